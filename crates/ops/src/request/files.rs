//! Where files may be that an agent names.

use std::path::{Component, Path, PathBuf};

use super::Call;
use crate::error::{Code, OpError};

impl Call {
    /// A file that the agent names. What is not whole begins at its own directory, or at the hub's.
    pub(crate) fn path(&self, field: &str, text: &str) -> Result<PathBuf, OpError> {
        let files = &self.settings().files;
        let path = match Path::new(text) {
            path if path.is_absolute() => path.to_owned(),
            path => self.agent.base().unwrap_or_else(|| files.clone()).join(path),
        };
        let path = real_path(&without_dots(&path));
        let is_within = path.starts_with(real_path(files)) || self.agent.may_name(&path);
        if text.trim().is_empty() || !is_within {
            let message =
                format!("`{field}`: {} is outside of the directories that you may use", path.display());
            let hint =
                format!("name a file below {}", self.agent.base().unwrap_or_else(|| files.clone()).display());
            return Err(OpError::new(Code::Refused, message, hint));
        }
        Ok(path)
    }
}

/// Where a path really leads, however much of it is there already: a link must not lead out of where an agent may be.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        if let Ok(real) = there.canonicalize() {
            return path.strip_prefix(there).map_or(real.clone(), |rest| {
                if rest.as_os_str().is_empty() { real } else { real.join(rest) }
            });
        }
    }
    path.to_owned()
}

/// `a/b/../c` as `a/c`: what is left out of a path must not lead out of it.
fn without_dots(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Agent, AgentName, Stay};

    #[test]
    fn paths_do_not_lead_out() {
        assert_eq!(without_dots(Path::new("/a/b/../../../etc/./x")), PathBuf::from("/etc/x"));
        let agent = Agent::new(AgentName::new("a"), Stay::Connected);
        assert!(agent.may_name(Path::new("/etc/passwd")), "nobody has confined it");
        agent.confine(vec![PathBuf::from("/srv/here")]);
        assert!(
            agent.may_name(Path::new("/srv/here/a.png"))
                && !agent.may_name(Path::new("/srv/hereafter/a.png"))
        );
        assert!(!agent.may_name(&without_dots(Path::new("/srv/here/../secret"))));
    }
}
