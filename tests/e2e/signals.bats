# signals, full disks, files that change under a run
load lib

# a run that lasts: thousands of tokens of a model wide enough to take minutes
setup_more()
{
	export SLOW=$BATS_FILE_TMPDIR/slow.gguf
	slow_model "$SLOW" --layers 8 --embd 512
}
# whoever runs the tests may ignore signals, as shells do for what runs in the background: begin with the defaults
slow() { exec env --default-signal=INT,TERM,PIPE infer-run -q -m "$SLOW" --no-stdin --ignore-eos --temp 0 -n 90000 the; }

# until FILE has bytes, at most a minute
wait_for()
{
	for _ in $(seq 600); do
		[ -s "$1" ] && return
		sleep 0.1
	done
	echo "nothing in $1"
	return 1
}

@test "SIGINT ends it promptly by the signal itself: 130, no word, what was said is whole" {
	set -m
	# other work of the machine may make one of them late, but not each
	for _ in 1 2 3 4; do
		slow >out 2>err &
		pid=$!
		wait_for out
		sleep 0.3
		before=$(date +%s%N)
		kill -INT $pid
		rc=0
		wait $pid || rc=$?
		took=$(($(date +%s%N) - before))
		same 130 "$rc"
		[ ! -s err ]
		[ -s out ]
		[ $took -ge 500000000 ] || return 0
	done
	echo "the last one took $took ns"
	return 1
}

@test "SIGTERM ends it by the signal: 143" {
	set -m
	slow >out 2>err &
	pid=$!
	wait_for out
	kill -TERM $pid
	rc=0
	wait $pid || rc=$?
	same 143 "$rc"
	[ ! -s err ]
}

@test "a SIGINT that is ignored when it begins stays ignored" {
	(trap '' INT; exec infer-run -q -m "$SLOW" --no-stdin --ignore-eos --temp 0 -n 90000 the >out 2>err) &
	pid=$!
	wait_for out
	kill -INT $pid
	sleep 1
	kill -0 $pid
	kill -TERM $pid
	rc=0
	wait $pid || rc=$?
	same 143 "$rc"
}

@test "a full disk is an error of one line, exit code 1, in every form of output" {
	for o in '-n 4' '-n 4 --json' '-n 4 -o tokens' --tokenize --score '--score --json'; do
		rc=0
		# shellcheck disable=SC2086
		infer-run -q --no-stdin $o the of >/dev/full 2>err || rc=$?
		same 1 "$rc"
		same 1 "$(wc -l <err)"
		grep -q 'No space left on device' err
	done
	for o in show 'show --json' tensors 'tokens the' hw --help --version; do
		rc=0
		# shellcheck disable=SC2086
		infer-inspect $o --no-stdin </dev/null >/dev/full 2>err || rc=$?
		case $o in tokens* | --*) ;; *)
			# shellcheck disable=SC2086
			rc=0; infer-inspect $o >/dev/full 2>err || rc=$? ;;
		esac
		same 1 "$rc"
		same 1 "$(wc -l <err)"
		grep -q 'No space left on device' err
	done
}

@test "a disk that fills up while tokens come ends it with one line" {
	[ "$(id -u)" = 0 ] || skip "needs root, to mount a file system"
	mkdir disk
	mount -t tmpfs -o size=16k tmpfs disk 2>/dev/null || skip "needs the right to mount a file system, which this machine withholds"
	rc=0
	yes the | head -n 40 | tr '\n' ' ' >p
	infer-run -q --no-stdin --ignore-eos --repeat 100 --temp 0 -f p >disk/out 2>err || rc=$?
	umount disk
	same 1 "$rc"
	same 'infer-run: error: cannot write standard output: No space left on device' "$(cat err)"
}

@test "a closed standard output is an error" {
	rc=0
	infer-run -q --no-stdin -n 2 the >&- 2>err || rc=$?
	same 1 "$rc"
	same 1 "$(wc -l <err)"
	rc=0
	infer-inspect >&- 2>err || rc=$?
	same 1 "$rc"
}

@test "a closed standard error does no harm" {
	same "$(infer-run -q --no-stdin --temp 0 -n 3 the)" "$(infer-run --no-stdin --temp 0 -n 3 the 2>&-)"
}

@test "a model cut short while it is in use: one line that names it, exit code 1" {
	cp "$SLOW" cut.gguf
	infer-run -q -m cut.gguf --no-stdin --ignore-eos --temp 0 -n 90000 the >out 2>err &
	pid=$!
	wait_for out
	truncate -s 4096 cut.gguf
	rc=0
	wait $pid || rc=$?
	same 1 "$rc"
	same 'infer-run: error: cut.gguf: became shorter while it was in use' "$(cat err)"
}

@test "a model that is replaced by another while it is in use does no harm" {
	cp "$M" here.gguf
	a=$(infer-run -q -m here.gguf --no-stdin --temp 0 -n 300 --ignore-eos the)
	infer-run -q -m here.gguf --no-stdin --temp 0 -n 300 --ignore-eos the >out &
	pid=$!
	cp "$SPM" new.gguf
	mv new.gguf here.gguf
	wait $pid
	case $(cat out) in "$a") ;; *) infer-run -q -m "$SPM" --no-stdin --temp 0 -n 300 --ignore-eos the | cmp - out ;; esac
}

@test "what is written to standard error by a library that fails is no second line" {
	fails 3 '' infer-run -m /dev/null x || fails 1 'not a regular file' infer-run -m /dev/null x
}

@test "a file beyond the limit on sizes: one line and exit code 1, not a signal" {
	[ "${SAN:-}" != thread ] || skip "needs a build without the thread sanitizer, which writes files itself"
	rc=0
	err=$(ulimit -f 0; exec env --default-signal=XFSZ infer-run -q --no-stdin -n 4 the of 2>&1 >out) || rc=$?
	same 1 "$rc"
	[[ $err == "infer-run: error: "*"File too large"* ]]
}
