# Damaged files: a program refuses each with exit code 3 and one line naming it, or opens it where nothing is wrong; never a
# signal, never more than 64 MiB or a second (tests/tools/mkhostile.c has the list).  Every file that all should refuse is given to
# one of five commands in turn, every other file to all of them.

load lib

setup_more()
{
	export D=$BATS_FILE_TMPDIR/hostile MIB=64 MS=1000 N=5 SOME=
	# sanitizers take memory and time of their own, and see the library read all of them in tests/unit/file/test_hostile
	[ -z "${SAN:-}" ] || MIB=100000 MS=20000 N=25 SOME=/8
	mkhostile "$D" "$TOP"/tests/fuzz/corpus/gguf/tiny-bpe.gguf "$TOP"/tests/fuzz/corpus/gguf/tiny-spm.gguf
}

@test "infer-inspect show" {
	runlist "$D" 1/$N+0$SOME $MIB $MS "$B/infer-inspect" show -m {}
}

@test "infer-inspect tensors" {
	runlist "$D" 1/$N+1$SOME $MIB $MS "$B/infer-inspect" tensors -m {}
}

@test "infer-inspect tokens" {
	runlist "$D" 2/$N+2$SOME $MIB $MS "$B/infer-inspect" tokens -m {}
}

@test "infer-run --tokenize" {
	runlist "$D" 2/$N+3$SOME $MIB $MS "$B/infer-run" -m {} --no-stdin --tokenize "the word"
}

@test "infer-run" {
	runlist "$D" 3/$N+4$SOME $MIB $MS "$B/infer-run" -m {} -t 1 -c 64 -n 2 --temp 0 --raw --no-stdin "the word"
}
