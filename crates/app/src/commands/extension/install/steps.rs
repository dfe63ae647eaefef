//! How a person loads the extension into each kind of browser, in words.

use std::path::Path;

use crate::bundle::Package;

/// What to do in a browser that has an older one.
pub(super) fn again(package: Package) -> &'static str {
    match package {
        Package::Chrome => "reload it on the page of extensions (the round arrow on its card)",
        Package::Firefox => "press Reload on about:debugging, or install the file again",
        Package::Safari => "convert and build it again",
    }
}

/// The steps that load it, and the number of the next one.
pub(super) fn loading(package: Package, path: &Path, archive: Option<&Path>) -> (String, u32) {
    match package {
        Package::Chrome => (chrome(path), 5),
        Package::Firefox => (firefox(path, archive.unwrap_or(path)), 3),
        Package::Safari => (safari(path), 4),
    }
}

fn chrome(path: &Path) -> String {
    format!(
        "\nTo load it into a browser:
  1. Open the page of extensions:
       Chrome, Chromium   chrome://extensions
       Edge               edge://extensions
       Brave              brave://extensions
  2. Switch on Developer mode (Chrome, Chromium, Brave: at the top right; Edge: on the left).
  3. Press Load unpacked and choose the directory
       {}
  4. Pin Bowline to the toolbar, if you like: its icon shows whether it is connected.
",
        path.display()
    )
}

fn firefox(path: &Path, archive: &Path) -> String {
    format!(
        "\nTo load it into Firefox:
  1. Until Firefox is closed, in every Firefox: open about:debugging#/runtime/this-firefox, press
     Load Temporary Add-on and choose
       {}
     For good, in Firefox ESR, Developer Edition and Nightly, which can do without Mozilla's signature:
     set xpinstall.signatures.required to false on about:config, then on about:addons choose
     Install Add-on From File (the wheel) and take
       {}
     An administrator can do the same for many with ExtensionSettings and Preferences in policies.json.
  2. Pin Bowline to the toolbar (the piece of a puzzle): its icon shows whether it is connected.
",
        path.join("manifest.json").display(),
        archive.display()
    )
}

fn safari(path: &Path) -> String {
    format!(
        "\nTo make an app of it for Safari, on a Mac with Xcode (not tried by us):
  1. Run:  xcrun safari-web-extension-converter \"{}\"
  2. Build and run the project that opens.
  3. Switch it on in Safari: Settings, Extensions (Develop, Allow Unsigned Extensions, if it is not signed).
",
        path.display()
    )
}
