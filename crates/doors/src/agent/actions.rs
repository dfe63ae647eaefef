//! What an agent may ask for by name. Ops come from their table; what else there is, is found here.

use bowline_ops::{Access, Entry};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::visitor::{Visitor, Work};
use crate::mcp::resources;
use crate::problem::Problem;

type Run = for<'a> fn(&'a Visitor, Work) -> BoxFuture<'a, Result<Value, Problem>>;

pub(super) enum Action {
    /// `op.NAME`: an op; the answer is its whole output.
    Op(&'static Entry),
    /// A browser action of the bridge; the answer is what its table says.
    Bridge(&'static bowline_ops::Action),
    Own(Run),
}

/// What an action's name stands for.
pub(super) fn find(action: &str) -> Option<Action> {
    if let Some(op) = action.strip_prefix("op.") {
        return bowline_ops::find(op).map(Action::Op);
    }
    match action {
        resources::LIST => Some(Action::Own(|visitor, _| {
            Box::pin(async move { Ok(resources::list(visitor.desk().hub()).await) })
        })),
        resources::READ => Some(Action::Own(|visitor, work| {
            Box::pin(async move { resources::read(visitor.desk().hub(), &work.payload).await })
        })),
        action => bowline_ops::find_action(action).map(Action::Bridge),
    }
}

/// Whether doing it twice does no harm.
pub(super) fn only_looks(action: &str) -> bool {
    match find(action) {
        Some(Action::Op(op)) => op.access == Access::Read,
        _ => matches!(action, resources::LIST | resources::READ),
    }
}

pub(super) async fn run(action: Action, visitor: &Visitor, work: Work) -> Result<Value, Problem> {
    match action {
        Action::Op(op) => visitor.op(op, work).await,
        Action::Bridge(action) => visitor.act(action, work).await,
        Action::Own(run) => run(visitor, work).await,
    }
}
