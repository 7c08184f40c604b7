use super::*;

/// Unit vectors that are the same every time.
fn vector(seed: u64) -> Vector {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut vector = [0.0; crate::DIMENSIONS];
    for number in &mut vector {
        // The sum of a few dice is round enough.
        *number = (0..4)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 40) as f32 / (1 << 24) as f32 - 0.5
            })
            .sum();
    }
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.map(|number| number / length)
}

fn entries(seeds: std::ops::Range<u64>) -> Vec<(Key, Vector)> {
    seeds.map(|seed| (Key::of(&seed.to_string()), vector(seed))).collect()
}

fn dot(a: &Vector, b: &Vector) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("vectors")
    }

    fn open(&self) -> Vectors {
        Vectors::open(&self.path()).unwrap()
    }

    fn with(seeds: std::ops::Range<u64>) -> Self {
        let scene = Self::new();
        scene.open().append(&entries(seeds)).unwrap();
        scene
    }
}

#[test]
fn what_was_added_is_found_again_after_the_file_was_closed() {
    let scene = Scene::with(0..3000);
    let mut vectors = scene.open();
    assert_eq!(vectors.len(), 3000);
    for (key, vector) in entries(0..3000) {
        let found = vectors.get(key).unwrap();
        let furthest = found.iter().zip(&vector).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(furthest < 4e-6, "{furthest}");
    }
    assert_eq!(vectors.get(Key::of("nobody")), None);
}

#[test]
fn a_text_that_is_there_is_not_added_again() {
    let scene = Scene::with(0..10);
    let mut vectors = scene.open();
    let twice: Vec<_> = entries(5..15).into_iter().chain(entries(5..15)).collect();
    assert_eq!(vectors.append(&twice).unwrap(), 5);
    assert_eq!((vectors.len(), scene.open().len()), (15, 15));
}

#[test]
fn the_nearest_are_those_of_an_exact_search() {
    let scene = Scene::with(0..5000);
    let vectors = scene.open();
    let all = entries(0..5000);
    let mut found = 0;
    for seed in 9000..9050 {
        let query = vector(seed);
        let mut exact: Vec<(f32, Key)> =
            all.iter().map(|(key, v)| (dot(v, &query), *key)).collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let near = vectors.nearest(&query, 10, 1, |_| true);
        assert_eq!(near.len(), 10);
        assert!((near[0].score - exact[0].0).abs() < 1e-4);
        found += near.iter().filter(|near| exact[..10].iter().any(|one| one.1 == near.key)).count();
    }
    assert!(found >= 499, "{found} of 500");
}

#[test]
fn threads_change_nothing_about_the_answer() {
    let scene = Scene::new();
    let mut vectors = scene.open();
    // Many rows of few kinds, so that there are ties: the oldest rows win.
    let rows: Vec<(Key, Vector)> = (0..110_000_u32)
        .map(|row| (Key(u128::from(row) + 1), vector(u64::from(row % 7))))
        .collect();
    vectors.append(&rows).unwrap();
    let query = vector(3);
    let one = vectors.nearest(&query, 20, 1, |_| true);
    assert_eq!(vectors.nearest(&query, 20, 2, |_| true), one);
    let rows: Vec<u32> = one.iter().map(|near| near.row).collect();
    assert_eq!(rows, (0..20).map(|at| 3 + 7 * at).collect::<Vec<_>>());
}

#[test]
fn only_rows_that_are_allowed_are_found() {
    let scene = Scene::with(0..2000);
    let vectors = scene.open();
    let near = vectors.nearest(&vector(77), 5, 1, |row| row % 100 == 1);
    assert_eq!(near.len(), 5);
    assert!(near.iter().all(|near| near.row % 100 == 1), "{near:?}");
    assert_eq!(vectors.nearest(&vector(77), 5, 1, |_| false), []);
    assert_eq!(vectors.nearest(&vector(77), 0, 1, |_| true), []);
    assert_eq!(vectors.nearest(&vector(77), 1, 1, |_| true)[0].row, 77);
}

#[test]
fn a_reader_sees_what_a_writer_adds_once_it_looks_again() {
    let scene = Scene::with(0..10);
    let mut reader = scene.open();
    scene.open().append(&entries(10..1500)).unwrap();
    assert_eq!(reader.len(), 10);
    assert_eq!(reader.nearest(&vector(3), 1, 1, |_| true)[0].row, 3);
    reader.refresh().unwrap();
    assert_eq!(reader.len(), 1500);
    assert_eq!(reader.nearest(&vector(1400), 1, 1, |_| true)[0].row, 1400);
}

#[test]
fn rows_that_the_header_does_not_count_are_written_over() {
    let scene = Scene::with(0..100);
    // As if a writer had died before it wrote the header: the header counts fewer rows.
    let file = OpenOptions::new().write(true).open(scene.path()).unwrap();
    file.write_all_at(&50_u64.to_le_bytes(), layout::ROWS_AT).unwrap();
    let mut vectors = scene.open();
    assert_eq!(vectors.len(), 50);
    assert!(!vectors.contains(Key::of("60")));
    vectors.append(&entries(200..230)).unwrap();
    let mut vectors = scene.open();
    assert_eq!(vectors.len(), 80);
    assert_eq!(vectors.key(50), Key::of("200"));
    assert!(vectors.contains(Key::of("49")) && !vectors.contains(Key::of("60")));
}

#[test]
fn a_file_that_was_cut_short_keeps_its_whole_blocks() {
    let scene = Scene::with(0..3000);
    let size = std::fs::metadata(scene.path()).unwrap().len();
    for cut in [size - 1, size / 2, 5000, 4096] {
        let file = OpenOptions::new().write(true).open(scene.path()).unwrap();
        file.set_len(cut).unwrap();
        let mut vectors = scene.open();
        let rows = vectors.len();
        assert!(rows.is_multiple_of(1024) && rows < 3000, "{rows}");
        assert_eq!(vectors.nearest(&vector(1), 1, 1, |_| true).len(), rows.min(1));
        vectors.append(&entries(5000..5010)).unwrap();
        assert_eq!((vectors.len(), scene.open().len()), (rows + 10, rows + 10));
        assert_eq!(vectors.key(rows as u32), Key::of("5000"));
    }
}

#[test]
fn compacting_keeps_what_is_wanted_and_leaves_readers_in_peace() {
    let scene = Scene::with(0..2500);
    let reader = scene.open();
    let wanted: std::collections::HashSet<Key> =
        (0..2500_u64).step_by(2).map(|seed| Key::of(&seed.to_string())).collect();
    let mut vectors = scene.open();
    assert_eq!(vectors.compact(|key| wanted.contains(&key)).unwrap(), 1250);
    assert_eq!(vectors.len(), 1250);
    assert!(vectors.contains(Key::of("2")) && !vectors.contains(Key::of("3")));
    assert_eq!(vectors.nearest(&vector(2000), 1, 1, |_| true)[0].key, Key::of("2000"));
    assert_eq!(reader.nearest(&vector(1999), 1, 1, |_| true)[0].key, Key::of("1999"));
    assert_eq!(vectors.compact(|_| true).unwrap(), 0);
    let names = std::fs::read_dir(scene.dir.path()).unwrap().count();
    assert_eq!(names, 1, "nothing is left beside it");
}

#[test]
fn a_writer_that_was_replaced_adds_to_the_new_file() {
    let scene = Scene::with(0..20);
    let mut old = scene.open();
    scene.open().compact(|key| key == Key::of("7")).unwrap();
    old.append(&entries(30..31)).unwrap();
    let mut now = scene.open();
    assert_eq!(now.len(), 2);
    assert!(now.contains(Key::of("7")) && now.contains(Key::of("30")));
}

#[test]
fn what_is_not_such_a_file_is_refused_and_can_be_started_over() {
    let scene = Scene::new();
    let mut other = VectorsHeader::with_rows(0).bytes();
    other[32] = b'X';
    let mut wider = VectorsHeader::with_rows(0).bytes();
    wider[17] = 9;
    for content in [b"".to_vec(), b"something else".to_vec(), vec![0; 9000], other, wider] {
        std::fs::write(scene.path(), content).unwrap();
        let refused = Vectors::open(&scene.path());
        assert!(
            matches!(refused, Err(VectorsError::Foreign { .. } | VectorsError::Io { .. })),
            "accepted"
        );
        assert!(Vectors::start_over(&scene.path()).unwrap().is_empty());
    }
}

#[test]
fn odd_vectors_do_no_harm() {
    let scene = Scene::new();
    let mut vectors = scene.open();
    let rows = [(Key(1), [0.0; crate::DIMENSIONS]), (Key(2), [f32::NAN; crate::DIMENSIONS])];
    vectors.append(&rows).unwrap();
    assert_eq!(vectors.get(Key(1)), Some([0.0; crate::DIMENSIONS]));
    assert_eq!(vectors.nearest(&vector(1), 3, 1, |_| true).len(), 2);
    assert_eq!(vectors.nearest(&[0.0; crate::DIMENSIONS], 3, 1, |_| true).len(), 2);
}
