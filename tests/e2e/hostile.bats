# Damaged files: every program refuses each with exit code 3 and one line naming it, or opens it where nothing is wrong;
# never a signal, never more than 64 MiB or a second (tests/tools/mkhostile.c has the list).

setup_file() {
	export D=$BATS_FILE_TMPDIR/hostile
	"$B/tests/tools/mkhostile" "$D" tests/fuzz/corpus/gguf/tiny-bpe.gguf tests/fuzz/corpus/gguf/tiny-spm.gguf
}

@test "infer-inspect show" {
	"$B/tests/tools/runlist" "$D" 1 64 1000 "$B/infer-inspect" show -m {}
}

@test "infer-inspect tensors" {
	"$B/tests/tools/runlist" "$D" 1 64 1000 "$B/infer-inspect" tensors -m {}
}

@test "infer-inspect tokens" {
	"$B/tests/tools/runlist" "$D" 2 64 1000 "$B/infer-inspect" tokens -m {}
}

@test "infer-run --tokenize" {
	"$B/tests/tools/runlist" "$D" 2 64 1000 "$B/infer-run" -m {} --no-stdin --tokenize "the word"
}

@test "infer-run" {
	"$B/tests/tools/runlist" "$D" 3 64 1000 "$B/infer-run" -m {} -t 1 -c 64 -n 2 --temp 0 --raw --no-stdin "the word"
}
