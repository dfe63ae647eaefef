// Written by Bowline at each launch. Take this line away and the file is yours: it then stays as it is.

// A blank page at the start and in new tabs, and nothing to click away before it.
user_pref("browser.startup.page", 0);
user_pref("browser.startup.homepage", "about:blank");
user_pref("browser.newtabpage.enabled", false);
user_pref("startup.homepage_welcome_url", "about:blank");
user_pref("startup.homepage_welcome_url.additional", "");
user_pref("browser.aboutwelcome.enabled", false);
// "ignore" means: never show what is new in this version.
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("termsofuse.bypassNotification", true);
user_pref("datareporting.policy.dataSubmissionPolicyBypassNotification", true);
user_pref("browser.shell.checkDefaultBrowser", false);

// A browser that was killed starts like any other: no restored tabs, no question, no safe mode.
user_pref("browser.sessionstore.resume_from_crash", false);
user_pref("toolkit.startup.max_resumed_crashes", -1);
user_pref("browser.warnOnQuit", false);
user_pref("browser.tabs.warnOnClose", false);

// Agents work in tabs behind others. Those would draw once in a second and have their timers a second late.
user_pref("layout.testing.top-level-always-active", true);
user_pref("dom.min_background_timeout_value", 4);
user_pref("dom.min_background_timeout_value_without_budget_throttling", 4);
user_pref("dom.timeout.enable_budget_timer_throttling", false);

// WebDriver BiDi alone: versions before 129 would offer an old CDP on the same port.
user_pref("remote.active-protocols", 1);

// No updates: of the program, of add-ons, of search engines, of codecs, of experiments. The first name is
// the only one that works without an enterprise policy.
user_pref("app.update.disabledForTesting", true);
user_pref("extensions.update.enabled", false);
user_pref("extensions.systemAddon.update.enabled", false);
user_pref("extensions.getAddons.cache.enabled", false);
user_pref("browser.search.update", false);
user_pref("media.gmp-manager.updateEnabled", false);
user_pref("app.normandy.enabled", false);
user_pref("app.normandy.api_url", "");
user_pref("app.shield.optoutstudies.enabled", false);
user_pref("nimbus.rollouts.enabled", false);
// Lists that Mozilla keeps up to date. A release asks its own server whatever this says, unless
// MOZ_REMOTE_SETTINGS_DEVTOOLS is set, and Bowline sets it.
user_pref("services.settings.server", "data:,#remote-settings-dummy/v1");
user_pref("services.settings.loglevel", "off");
user_pref("security.remote_settings.intermediates.enabled", false);

// No telemetry.
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("datareporting.healthreport.uploadEnabled", false);
user_pref("datareporting.usage.uploadEnabled", false);
user_pref("toolkit.telemetry.server", "data:,");
user_pref("toolkit.telemetry.unified", false);
user_pref("toolkit.telemetry.shutdownPingSender.enabled", false);
// A port of -1: what Glean still gathers is sent nowhere.
user_pref("telemetry.fog.test.localhost_port", -1);

// Nobody is asked whether there is a network, or where we are.
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("browser.region.network.url", "");
user_pref("browser.region.update.enabled", false);
user_pref("geo.provider.network.url", "");
// Names are looked up by the system, as every other program's, and not by a server of Mozilla's choice.
user_pref("network.trr.mode", 5);

// Only what a page asks for is fetched.
user_pref("network.prefetch-next", false);
user_pref("network.dns.disablePrefetch", true);
user_pref("network.http.speculative-parallel-limit", 0);
user_pref("dom.push.connection.enabled", false);

// Lists of bad sites are large and come from elsewhere.
user_pref("browser.safebrowsing.malware.enabled", false);
user_pref("browser.safebrowsing.phishing.enabled", false);
user_pref("browser.safebrowsing.blockedURIs.enabled", false);
user_pref("browser.safebrowsing.downloads.enabled", false);
user_pref("browser.safebrowsing.provider.mozilla.updateURL", "");

// Services of the new tab page, of the address bar and of the account.
user_pref("browser.topsites.contile.enabled", false);
user_pref("browser.newtabpage.activity-stream.feeds.system.topstories", false);
user_pref("browser.newtabpage.activity-stream.asrouter.userprefs.cfr.features", false);
user_pref("browser.urlbar.suggest.searches", false);
user_pref("browser.urlbar.merino.endpointURL", "");
user_pref("browser.discovery.enabled", false);
user_pref("browser.ml.enable", false);
user_pref("browser.translations.enable", false);
user_pref("browser.backup.enabled", false);
user_pref("identity.fxaccounts.enabled", false);
