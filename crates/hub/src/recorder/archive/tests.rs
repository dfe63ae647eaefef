use super::*;
use crate::recorder::store::tests::{line, page};
use crate::recorder::store::{Bounds, Changes, Store};

fn bounds() -> Bounds {
    crate::fake::quiet_recorder().bounds
}

/// A memory with one tab, and what is to be written of it.
fn store_with_lines(lines: &[&str]) -> (Store, TabKey) {
    let mut store = Store::new(bounds(), Count::default());
    let (key, _) = store.open("default", &page("T", "http://a.test/"), 0.0);
    for text in lines {
        store.add_console(key, line(text));
    }
    (store, key)
}

fn batch(store: &mut Store) -> Batch {
    let changes: Changes = store.take_changes();
    super::super::batch(store, changes)
}

fn texts(left: &Left) -> Vec<&str> {
    left.tabs.iter().flat_map(|(_, console, _)| console).map(|record| record.text.as_str()).collect()
}

#[tokio::test]
async fn what_was_written_is_there_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let (archive, left) = Archive::open(&path).unwrap();
    assert!(left.tabs.is_empty());
    let (mut store, key) = store_with_lines(&["one", "two"]);
    archive.write(batch(&mut store)).await.unwrap();
    store.add_console(key, line("three"));
    store.clear(key, Kind::Network);
    archive.write(batch(&mut store)).await.unwrap();
    archive.close();
    let (archive, left) = Archive::open(&path).unwrap();
    assert_eq!(texts(&left), ["one", "two", "three"]);
    assert_eq!((left.last_seq, left.unreadable), (3, 0));
    assert_eq!(left.tabs[0].0.url, "http://a.test/");
    drop(archive);
}

#[tokio::test]
async fn what_is_removed_or_dropped_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let (archive, _) = Archive::open(&path).unwrap();
    let (mut store, key) = store_with_lines(&["one", "two"]);
    archive.write(batch(&mut store)).await.unwrap();
    store.clear(key, Kind::Console);
    store.add_console(key, line("three"));
    archive.write(batch(&mut store)).await.unwrap();
    assert_eq!(texts(&open_and_read(&path).unwrap().1), ["three"]);
    store.remove(key);
    archive.write(batch(&mut store)).await.unwrap();
    archive.close();
    let connection = Connection::open(&path).unwrap();
    for table in ["tabs", "records"] {
        let count: i64 =
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert_eq!(count, 0, "{table}");
    }
}

#[tokio::test]
async fn a_full_disk_loses_nothing_that_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let (mut store, key) = store_with_lines(&["one"]);
    {
        let (mut connection, _) = open_and_read(&path).unwrap();
        write(&mut connection, &batch(&mut store)).unwrap();
        let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        connection.pragma_update(None, "max_page_count", pages).unwrap();
        for _ in 0..200 {
            store.add_console(key, line(&"x".repeat(1000)));
        }
        let error = write(&mut connection, &batch(&mut store)).unwrap_err();
        assert!(error.to_string().contains("full"), "{error}");
        // Room again: everything that is in memory is written.
        connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
        store.mark_all_changed(Default::default());
        write(&mut connection, &batch(&mut store)).unwrap();
    }
    let (_, left) = open_and_read(&path).unwrap();
    assert_eq!(texts(&left).len(), 201);
}

#[test]
fn what_is_no_archive_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    std::fs::write(&path, "certainly not a database, and long enough to be looked at as one".repeat(20))
        .unwrap();
    let (archive, left) = Archive::open(&path).unwrap();
    let aside = left.set_aside.unwrap();
    assert!(std::fs::read_to_string(aside).unwrap().starts_with("certainly"));
    archive.close();
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    assert!(Archive::open(&path).unwrap().1.set_aside.is_some(), "nor is one of another format");
}

#[test]
fn the_counter_survives_and_never_goes_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.count");
    let (mut counter, count) = Counter::open(&path).unwrap();
    assert_eq!(count, Count::default());
    counter.store(Count { last_seq: 7, made: 3 }).unwrap();
    counter.store(Count { last_seq: 5, made: 9 }).unwrap();
    drop(counter);
    assert_eq!(Counter::open(&path).unwrap().1, Count { last_seq: 7, made: 3 });
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 16);
}
