"""rclone: copies, checks and synchronises a tree of files, unmodified."""
import os

from tools_support import FILES, ODD_FILES, ToolTest, main, read_tree, write


class RcloneTest(ToolTest):
    def environment(self):
        return super().environment() | {
            "RCLONE_CONFIG": self.path("rclone.conf"), "RCLONE_CONFIG_T_TYPE": "azureblob",
            "RCLONE_CONFIG_T_USE_EMULATOR": "true", "RCLONE_CONFIG_T_ENDPOINT": self.endpoint,
            "RCLONE_TRANSFERS": "16", "RCLONE_CHECKERS": "16", "RCLONE_RETRIES": "1", "RCLONE_LOW_LEVEL_RETRIES": "3"}

    def rclone(self, *arguments, **more):
        return self.run_tool("rclone", *arguments, **more)

    def test_a_tree_there_and_back(self):
        self.rclone("mkdir", "t:tree")
        self.rclone("copy", self.tree, "t:tree")
        self.rclone("check", self.tree, "t:tree")
        self.rclone("check", "--download", self.tree, "t:tree")
        listed = self.rclone("lsf", "-R", "--files-only", "t:tree").splitlines()
        self.assertEqual(sorted(listed), sorted(read_tree(self.tree)))
        self.assertEqual(len(listed), FILES + len(ODD_FILES))
        self.rclone("copy", "t:tree", self.path("back"))
        self.assert_same_tree(self.path("back"))

    def test_sync_transfers_what_changed_and_removes_what_is_gone(self):
        local = self.path("changing")
        for number in range(50):
            write(os.path.join(local, f"d{number % 5}", f"f{number}"), b"x" * number)
        self.rclone("sync", local, "t:sync")
        self.assertNotIn("Copied", self.rclone("sync", "-v", local, "t:sync", with_log=True))
        os.remove(os.path.join(local, "d0", "f0"))
        write(os.path.join(local, "d1", "f1"), b"changed")
        write(os.path.join(local, "new"), b"new")
        self.assertEqual(self.rclone("sync", "-v", local, "t:sync", with_log=True).count("Copied"), 2)
        self.rclone("check", "--download", local, "t:sync")
        self.rclone("copy", "t:sync", self.path("synced"))
        self.assert_same_tree(self.path("synced"), local)

    def test_single_files(self):
        self.rclone("rcat", "t:single/a/one.txt", stdin="some text")
        self.assertEqual(self.rclone("cat", "t:single/a/one.txt"), "some text")
        self.rclone("copyto", "t:single/a/one.txt", "t:single/two.txt")
        self.rclone("moveto", "t:single/two.txt", "t:single/three.txt")
        self.rclone("touch", "--no-create", "t:single/three.txt", "-t", "2020-01-02T03:04:05")
        self.assertIn("2020-01-02 03:04:05", self.rclone("lsl", "t:single/three.txt"))
        self.rclone("settier", "Cool", "t:single/three.txt")
        self.assertIn('"Tier":"Cool"', self.rclone("lsjson", "t:single/three.txt"))
        self.assertEqual(sorted(self.rclone("lsf", "-R", "t:single").split()), ["a/", "a/one.txt", "three.txt"])

    def test_large_files_by_ranges(self):
        self.rclone("copyto", os.path.join(self.tree, "odd", "large"), "t:ranges/large")
        self.rclone("copyto", "--multi-thread-cutoff", "1M", "--multi-thread-streams", "4", "t:ranges/large",
                    self.path("ranges", "large"))
        with open(self.path("ranges", "large"), "rb") as file:
            self.assertEqual(file.read(), read_tree(self.tree)["odd/large"])

    def test_purge_removes_the_container(self):
        self.rclone("rcat", "t:purged/a/b", stdin="x")
        self.rclone("purge", "t:purged")
        self.assertNotIn("purged", self.rclone("lsd", "t:"))
        self.rclone("lsf", "t:purged", code=3)


if __name__ == "__main__":
    main("rclone")
