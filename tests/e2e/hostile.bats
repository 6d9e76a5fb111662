# Damaged files: every program refuses each with exit code 3 and one line naming it, or opens it where nothing is wrong;
# never a signal, never more than 64 MiB or a second (tests/tools/mkhostile.c has the list).

load lib

setup_more()
{
	export D=$BATS_FILE_TMPDIR/hostile MIB=64 MS=1000 EVERY=1
	# sanitizers take memory and time of their own, and see the library read all of them in tests/unit/file/test_hostile
	[ -z "${SAN:-}" ] || MIB=100000 MS=20000 EVERY=4
	mkhostile "$D" "$TOP"/tests/fuzz/corpus/gguf/tiny-bpe.gguf "$TOP"/tests/fuzz/corpus/gguf/tiny-spm.gguf
}

@test "infer-inspect show" {
	runlist "$D" 1/$EVERY $MIB $MS "$B/infer-inspect" show -m {}
}

@test "infer-inspect tensors" {
	runlist "$D" 1/$EVERY $MIB $MS "$B/infer-inspect" tensors -m {}
}

@test "infer-inspect tokens" {
	runlist "$D" 2/$EVERY $MIB $MS "$B/infer-inspect" tokens -m {}
}

@test "infer-run --tokenize" {
	runlist "$D" 2/$EVERY $MIB $MS "$B/infer-run" -m {} --no-stdin --tokenize "the word"
}

@test "infer-run" {
	runlist "$D" 3/$EVERY $MIB $MS "$B/infer-run" -m {} -t 1 -c 64 -n 2 --temp 0 --raw --no-stdin "the word"
}
