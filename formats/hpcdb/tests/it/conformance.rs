//! What every format promises, for each file of a database by itself, and for whole databases.

use kymo_conformance::Subject;

kymo_conformance::promises!(
    Subject::new(&kymo_hpcdb::HpcDb).unsound(&["bad/"]).writes_directories()
);

#[test]
fn every_damaged_file_of_a_database_is_answered() {
    let folder = kymo_conformance::testdata("hpcdb/matmul-omp");
    kymo_conformance::every_damaged_file_of_a_folder_is_answered(&kymo_hpcdb::HpcDb, &folder);
}

#[test]
fn what_is_rewritten_of_a_database_is_the_same() {
    let folder = kymo_conformance::testdata("hpcdb/matmul-omp");
    kymo_conformance::what_is_rewritten_of_a_folder_is_the_same(&kymo_hpcdb::HpcDb, &folder);
}

/// All but drafts and those of early 2022: they are written with four scopes, and have three.
#[test]
fn what_is_rewritten_of_real_databases_is_the_same() {
    let Some(root) = kymo_conformance::shared::file("hpctoolkit") else { return };
    for path in [
        "pairs/dbase/small.d",
        "pairs/dbase/loops-cputime-t.d",
        "pairs/dbase/loops-cuda-nvidiapc-t.d",
        "databases/derived-metrics.db",
        "made-here/matmul-omp-multi/database",
        "made-here/rustwork/database.struct",
    ] {
        let path = root.join(path);
        kymo_conformance::what_is_rewritten_of_a_folder_is_the_same(&kymo_hpcdb::HpcDb, &path);
    }
}
