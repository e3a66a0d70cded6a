import pytest

from twicetold.files import write_file, write_folder, write_text


def test_a_failed_write_leaves_the_former_file_and_no_other(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), write_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_is_replaced_whole(tmp_path):
    folder = tmp_path / "data"
    for name in ("one", "two"):
        with write_folder(folder) as target:
            write_text(target / name, name)
    assert [p.name for p in folder.iterdir()] == ["two"]
    assert [p.name for p in tmp_path.iterdir()] == ["data"]


def test_a_failed_folder_leaves_the_former_one(tmp_path):
    folder = tmp_path / "data"
    with write_folder(folder) as target:
        write_text(target / "one", "1")
    with pytest.raises(KeyboardInterrupt), write_folder(folder) as target:
        write_text(target / "two", "2")
        raise KeyboardInterrupt
    assert [p.name for p in folder.iterdir()] == ["one"]
    assert [p.name for p in tmp_path.iterdir()] == ["data"]
