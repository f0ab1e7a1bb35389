"""The completion scripts of the command line, each in its own shell: bash, zsh, fish. A missing shell is skipped."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from command_line import StackCase, tidemark  # noqa: E402
from stack import clean_environment, program  # noqa: E402

BASH = ('source "$2"; read -ra COMP_WORDS <<< "$1"; [[ $1 == *" " ]] && COMP_WORDS+=("");'
        'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_WORDS[0]="$0"; compopt() { echo @files; }; _tidemark;'
        'printf "%s\\n" "${COMPREPLY[@]}"')
# The completion system's handling of the result is not tested: a candidate is printed if it fits the word.
ZSH = ('compdef() {}; source "$2"; words=(${(s: :)1}); [[ $1 == *" " ]] && words+=(""); CURRENT=${#words}; words[1]=$0;'
       'compadd() { shift; for each in "$@"; do [[ $each == ${words[CURRENT]}* ]] && print -r -- $each; done };'
       '_files() { print @files }; _tidemark')
FISH = r"source $argv[2]; complete -C $argv[1] | string replace -r '\t.*' ''"


class InEachShell:
    shell = ""

    @classmethod
    def setUpClass(cls):
        if shutil.which(cls.shell) is None:
            raise unittest.SkipTest(f"{cls.shell} is not installed: scripts/setup --tests does it")
        super().setUpClass()
        with tempfile.NamedTemporaryFile("w", suffix="." + cls.shell, delete=False) as file:
            file.write(tidemark("completion", cls.shell).stdout)
        cls.script = file.name
        cls.addClassCleanup(os.remove, file.name)

    def completions(self, line):
        """Returns the candidates for the last word of the line."""
        where = os.path.dirname(os.path.abspath(program("tidemark")))
        environment = {**clean_environment(self.environment), "PATH": where + ":" + os.environ["PATH"], "HOME": "/nonexistent"}
        done = subprocess.run(self.call(line), capture_output=True, text=True, env=environment, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_the_script_is_right(self):
        checked = subprocess.run([self.shell, "-n", self.script], capture_output=True, text=True, timeout=60)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_what_is_offered(self):
        self.assertEqual(self.completions("tidemark jo"), ["job"])
        self.assertLessEqual({"job", "poison", "schedule", "explain"}, set(self.completions("tidemark ")))
        self.assertEqual(self.completions("tidemark schedule pa"), ["pause"])
        self.assertEqual(self.completions("tidemark --api http://x --json schedule pa"), ["pause"])
        self.assertIn("--catch-up", self.completions("tidemark schedule put x --"))
        self.assertEqual(set(self.completions("tidemark schedule put x --catch-up ")), {"none", "last", "all"})
        self.assertEqual(self.completions("tidemark job list --state su"), ["succeeded"])
        self.assertIn("archive", self.completions("tidemark job submit "))
        self.tables.create_table("Completed")
        self.assertEqual(self.completions("tidemark table query Comp"), ["Completed"])
        self.assertEqual(self.completions("tidemark job submit copy --source Comp"), ["Completed"])
        self.assertIn("tidemark-jobs-high", self.completions("tidemark queue show tidemark-"))
        job_id = self.api.submit({"kind": "delete", "source": "Nowhere", "filter": "",
                                  "notBefore": "2100-01-01T00:00:00Z"})
        self.assertIn(job_id, self.completions("tidemark job show "))
        self.assertEqual(self.completions("tidemark job show " + job_id + " --wa"), ["--watch"])
        self.assertEqual(self.completions("tidemark fly "), self.completions("tidemark "))
        self.assertEqual(self.completions("tidemark completion "), ["bash", "zsh", "fish"] if self.shell != "fish" else
                         sorted(["bash", "zsh", "fish"]))


class BashTest(InEachShell, StackCase):
    shell = "bash"

    def call(self, line):
        return ["bash", "--norc", "-c", BASH, program("tidemark"), line, self.script]

    def test_files(self):
        self.assertEqual(self.completions("tidemark job submit archive --file "), ["@files"])


class ZshTest(InEachShell, StackCase):
    shell = "zsh"

    def call(self, line):
        return ["zsh", "-f", "-c", ZSH, program("tidemark"), line, self.script]

    def test_files(self):
        self.assertEqual(self.completions("tidemark job submit archive --file "), ["@files"])


class FishTest(InEachShell, StackCase):
    shell = "fish"

    def call(self, line):
        return ["fish", "--no-config", "-c", FISH, line, self.script]

    def test_files(self):
        self.assertIn("/etc/hostname", self.completions("tidemark job submit archive --file /etc/hostna"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
