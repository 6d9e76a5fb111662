# a model's file that somebody writes to while a program uses it: exit 1, one line, and no record made of both
load lib

setup() { cd "$BATS_TEST_TMPDIR" && cp "$M" model.gguf && export INFER_MODEL=$PWD/model.gguf && mkfifo in; }

# mapped PID: wait until the process has the model in its memory
mapped()
{
	for _ in $(seq 600); do
		grep -q model.gguf "/proc/$1/maps" 2>/dev/null && return
		sleep 0.05
	done
	echo "process $1 never mapped the model"
	return 1
}
# the file keeps its inode and its bytes, all but one of them
scribble() { printf x | dd of=model.gguf bs=1 seek="$(($(stat -c %s model.gguf) - 1))" conv=notrunc status=none; }
replace() { cp "$SPM" other && mv other model.gguf; }
line() { same "infer-$1: error: $PWD/model.gguf was modified while it was in use" "$(cat err)"; }

# prompt CHANGE OPTION...: begin, change the file, then give the prompt
prompt()
{
	local change=$1 pid

	shift
	infer-run -q "$@" <in >out 2>err &
	pid=$!
	exec 9>in
	mapped $pid
	$change
	echo the of and >&9
	exec 9>&-
	rc=0
	wait $pid || rc=$?
}

@test "one prompt ends with exit 1 and without a record" {
	prompt scribble -n 4 --json
	same 1 "$rc"
	line run
	[ ! -s out ]
	prompt scribble -n 4
	same 1 "$rc"
	line run
	prompt scribble --score --json
	same 1 "$rc"
	line run
	[ ! -s out ]
}

@test "the sandbox does not hide it" {
	sandbox --read >/dev/null 2>why || true
	[ ! -s why ] || skip "$(cat why)"
	prompt scribble -n 4 --json --sandbox
	same 1 "$rc"
	line run
}

@test "a conversation ends" {
	prompt scribble -i --raw -n 4
	same 1 "$rc"
	grep -q "model.gguf was modified while it was in use" err
}

@test "a file that took the model's place is another file" {
	prompt replace -n 4 --ignore-eos --seed 1
	same 0 "$rc"
	[ ! -s err ]
	same "$(infer-run -q -m "$M" --no-stdin -n 4 --ignore-eos --seed 1 the of and)" "$(cat out)"
}

@test "a batch keeps the records from before, and writes none from after" {
	infer-run -q --ignore-eos --batch - --resume answers <in 2>err &
	pid=$!
	exec 9>in
	echo '{"id":"a","prompt":"the","max_tokens":2}' >&9
	for _ in $(seq 600); do
		[ "$(cat answers 2>/dev/null | wc -l)" = 1 ] && break
		sleep 0.05
	done
	scribble
	echo '{"id":"b","prompt":"of","max_tokens":2}' >&9
	exec 9>&-
	rc=0
	wait $pid || rc=$?
	same 1 "$rc"
	line run
	same a "$(json id <answers)"
}

@test "a measurement is no measurement of one model" {
	infer-bench run -p 64 -n 0 --repeat 3 --json >out 2>err &
	pid=$!
	mapped $pid
	scribble
	rc=0
	wait $pid || rc=$?
	same 1 "$rc"
	line bench
	[ ! -s out ]
}
