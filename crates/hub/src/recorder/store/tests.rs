use proptest::prelude::*;

use super::*;
use crate::recorder::record::{Level, Source};

const LAX: Bounds = Bounds {
    console: 1000,
    console_bytes: 1 << 20,
    requests: 1000,
    network_bytes: 1 << 20,
    total_bytes: 1 << 30,
    keep_closed: 1000.0,
};

pub(in crate::recorder) fn page(id: &str, url: &str) -> TargetInfo {
    TargetInfo {
        target_id: TargetId::new(id),
        kind: "page".to_owned(),
        title: String::new(),
        url: url.to_owned(),
        attached: true,
        parent_id: None,
        parent_frame_id: None,
        opener_id: None,
        can_access_opener: None,
    }
}

pub(in crate::recorder) fn line(text: &str) -> ConsoleRecord {
    ConsoleRecord {
        seq: 0,
        tab: "T".to_owned(),
        frame: None,
        origin: None,
        navigation: 0,
        timestamp: 1.0,
        level: Level::Log,
        source: Source::Console,
        api: None,
        text: text.to_owned(),
        args: Vec::new(),
        location: None,
        stack_trace: Vec::new(),
        truncated: 0,
        historical: None,
    }
}

fn request(url: &str) -> NetworkRecord {
    NetworkRecord { url: url.to_owned(), ..NetworkRecord::default() }
}

fn one_tab(bounds: Bounds) -> (Store, TabKey) {
    let mut store = Store::new(bounds, Count::default());
    let (key, known) = store.open("default", &page("T", "http://a.test/"), 0.0);
    assert!(!known);
    (store, key)
}

#[test]
fn the_oldest_go_first_and_are_counted() {
    let (mut store, key) = one_tab(Bounds { console: 3, requests: 2, ..LAX });
    for number in 0..5 {
        store.add_console(key, line(&number.to_string()));
        store.add_network(key, request(&number.to_string()));
    }
    let tab = store.tab(key).unwrap();
    assert_eq!(tab.console.iter().map(|record| record.text.as_str()).collect::<Vec<_>>(), ["2", "3", "4"]);
    assert_eq!(tab.network.iter().map(|record| record.url.as_str()).collect::<Vec<_>>(), ["3", "4"]);
    assert_eq!((tab.console_dropped, tab.network_dropped), (2, 3));
    assert_eq!((tab.messages, tab.requests), (5, 5));
}

#[test]
fn one_record_stays_even_if_it_is_too_large() {
    let (mut store, key) = one_tab(Bounds { console_bytes: 100, ..LAX });
    store.add_console(key, line("small"));
    store.add_console(key, line(&"x".repeat(1000)));
    let tab = store.tab(key).unwrap();
    assert_eq!((tab.console.len(), tab.console_dropped), (1, 1));
    assert_eq!(tab.console[0].text.len(), 1000);
}

#[test]
fn a_change_gets_a_number_of_its_own_and_keeps_the_record_in_place() {
    let (mut store, key) = one_tab(LAX);
    let first = store.add_network(key, request("first"));
    let second = store.add_network(key, request("second"));
    store.update_network(key, first, |record| record.status = Some(200));
    let tab = store.tab(key).unwrap();
    assert_eq!(tab.network.iter().map(|record| record.seq).collect::<Vec<_>>(), [first, second]);
    assert!(tab.network[0].changed > second);
    assert_eq!(store.last_seq(), tab.network[0].changed);
}

#[test]
fn a_closed_tab_is_kept_for_its_time_and_then_wholly_removed() {
    let (mut store, key) = one_tab(LAX);
    store.add_console(key, line("said"));
    store.close(key, "gone", 0.0);
    store.sweep(999.0);
    assert_eq!(store.tab(key).map(|tab| tab.console.len()), Some(1));
    store.take_changes();
    store.sweep(1000.0);
    assert!(store.tab(key).is_none() && store.find("default", &TargetId::new("T")).is_none());
    let changes = store.take_changes();
    assert_eq!(changes.removed, BTreeSet::from([key]));
    assert!(changes.records.is_empty() && changes.tabs.is_empty());
}

#[test]
fn too_much_altogether_costs_the_tab_that_closed_first() {
    let mut store = Store::new(Bounds { total_bytes: 10_000, keep_closed: 1e9, ..LAX }, Count::default());
    let keys: Vec<TabKey> = ["A", "B", "C"]
        .iter()
        .map(|id| {
            let (key, _) = store.open("default", &page(id, ""), 0.0);
            store.add_console(key, line(&"x".repeat(4_000)));
            key
        })
        .collect();
    store.close(keys[1], "gone", 1.0);
    store.close(keys[0], "gone", 2.0);
    store.sweep(3.0);
    let left: Vec<TabKey> = store.tabs().map(|tab| tab.key).collect();
    assert_eq!(left, [keys[0], keys[2]]);
}

#[test]
fn a_tab_that_comes_back_goes_on_where_it_was() {
    let (mut store, key) = one_tab(LAX);
    store.add_console(key, line("before"));
    store.close(key, "the connection broke", 1.0);
    let (again, known) = store.open("default", &page("T", "http://a.test/2"), 2.0);
    assert_eq!((again, known), (key, true));
    let tab = store.tab(key).unwrap();
    assert!(tab.is_open());
    assert_eq!((tab.console.len(), tab.url.as_str()), (1, "http://a.test/2"));
    let (other, known) = store.open("work", &page("T", ""), 2.0);
    assert!(other != key && !known, "the same id in another browser is another tab");
}

#[test]
fn workers_that_pages_share_belong_to_each_page_of_their_origin() {
    let (mut store, page_key) = one_tab(LAX);
    let (elsewhere, _) = store.open("default", &page("U", "http://b.test/"), 0.0);
    let worker = TargetInfo { kind: "service_worker".to_owned(), ..page("W", "http://a.test/sw.js") };
    let (worker, _) = store.open("default", &worker, 0.0);
    assert_eq!(store.tab(page_key).unwrap().workers, BTreeSet::from([worker]));
    assert!(store.tab(elsewhere).unwrap().workers.is_empty());
    store.navigated(elsewhere, "http://a.test/later", 1.0);
    assert_eq!(store.tab(elsewhere).unwrap().workers, BTreeSet::from([worker]));
    store.remove(worker);
    assert!(store.tab(page_key).unwrap().workers.is_empty());
}

#[test]
fn the_first_look_of_each_client_is_remembered() {
    let (mut store, key) = one_tab(LAX);
    store.add_console(key, line("one"));
    assert_eq!(store.first_look(key, Some("ann")), 1);
    store.add_console(key, line("two"));
    assert_eq!(store.first_look(key, Some("ann")), 1);
    assert_eq!(store.first_look(key, Some("bob")), 2);
    assert_eq!(store.first_look(key, None), 2);
}

#[test]
fn clearing_empties_one_side_and_its_count() {
    let (mut store, key) = one_tab(Bounds { console: 1, ..LAX });
    store.add_console(key, line("a"));
    store.add_console(key, line("b"));
    store.add_network(key, request("r"));
    store.take_changes();
    assert_eq!(store.clear(key, Kind::Console), 1);
    let tab = store.tab(key).unwrap();
    assert_eq!((tab.console.len(), tab.console_dropped, tab.network.len()), (0, 0, 1));
    let changes = store.take_changes();
    assert_eq!(changes.evicted.get(&(key, Kind::Console)), Some(&3));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bounds_hold_and_sizes_add_up_whatever_happens(
        steps in proptest::collection::vec((0..4u8, 0..2000usize), 1..200),
        console in 1..20usize,
        requests in 1..20usize,
        bytes in 500..20_000usize,
    ) {
        let bounds = Bounds { console, requests, console_bytes: bytes, network_bytes: bytes, ..LAX };
        let (mut store, key) = one_tab(bounds);
        let mut last = 0;
        for (step, size) in steps {
            match step {
                0 => prop_assert!(store.add_console(key, line(&"c".repeat(size))) > last),
                1 => prop_assert!(store.add_network(key, request(&"n".repeat(size))) > last),
                2 => store.update_network(key, last, |record| record.post_data = Some("p".repeat(size))),
                _ => store.improve_console(key, last, |record| record.text = "i".repeat(size)),
            }
            last = store.last_seq();
            let tab = store.tab(key).unwrap();
            prop_assert!(tab.console.len() <= console && tab.network.len() <= requests);
            prop_assert_eq!(tab.console_bytes, tab.console.iter().map(size::console).sum::<usize>());
            prop_assert_eq!(tab.network_bytes, tab.network.iter().map(size::network).sum::<usize>());
            prop_assert!(tab.console_bytes <= bytes || tab.console.len() == 1);
            prop_assert!(tab.network_bytes <= bytes || tab.network.len() == 1);
            prop_assert_eq!(tab.messages, tab.console.len() as u64 + tab.console_dropped);
            prop_assert_eq!(tab.requests, tab.network.len() as u64 + tab.network_dropped);
        }
    }
}
