# the sandbox: nothing but computing and writing is left, and the answers are the same
load lib
load serve

setup_more()
{
	sandbox --read >/dev/null 2>why || true
	export WHY_NOT
	WHY_NOT=$(cat why)
}

# where there is none (sanitizers, an old kernel), all that can be said is that asking for it fails
need_sandbox() { [ -z "$WHY_NOT" ] || skip "$WHY_NOT"; }

@test "in it nothing opens, connects, starts, types or becomes executable, also not in a thread that ran before" {
	need_sandbox
	local left='read map raise'

	for how in '' --thread; do
		# shellcheck disable=SC2086
		sandbox $how >out
		[ "$(wc -l <out)" = 24 ]
		same "$left" "$(sed -n 's/: done$//p' out | tr '\n' ' ' | sed 's/ $//')"
		[ "$(grep -c ': EPERM$' out)" = 21 ]
		[ ! -e sandbox.new ] && [ ! -e sandbox.dir ]
	done
	sandbox --threads >out
	same "thread $left" "$(sed -n 's/: done$//p' out | tr '\n' ' ' | sed 's/ $//')"
	sandbox --read >out
	same "open share $left" "$(sed -n 's/: done$//p' out | tr '\n' ' ' | sed 's/ $//')"
	[ ! -e sandbox.new ] && [ ! -e sandbox.dir ]
}

@test "what a server enters: no program, process, socket or executable memory; files by path" {
	need_sandbox
	for how in --serve '--serve --thread'; do
		rm -rf sandbox.*
		# shellcheck disable=SC2086
		sandbox $how >out
		same 'socket unix exec fork trace kill tgkill executable map-executable type uring' \
			"$(sed -n 's/: EPERM$//p' out | grep -vx append | tr '\n' ' ' | sed 's/ $//')"
		grep -qx 'thread: done' out
	done
	rm -rf sandbox.*
	sandbox --paths >out || skip 'no Landlock'
	grep -qx 'open: Permission denied' out
	for may in share write unlink mkdir socket thread read map; do
		grep -qx "$may: done" out
	done
}

@test "from inside a server: files go from its own folders only, and no file changes its mode or owner" {
	need_sandbox
	[ -e "$B/tests/fault/inside.so" ] || skip 'not for builds with sanitizers'
	mkdir -p w/own w/outside s
	touch w/own/file w/outside/file w/target
	again() { # OPTION...: what a server with these options finds when it tries
		rm -f said
		touch w/own/file w/outside/file w/target
		INSIDE=$PWD/w LD_PRELOAD=$B/tests/fault/inside.so serve -v "$@"
		grep -q 'stay in reach' said && skip 'no Landlock'
		kill -USR2 "$PID"
		for _ in $(seq 600); do
			[ "$(grep -c '^inside: ' said)" = 15 ] && break
			sleep 0.05
		done
		sed -n 's/^inside: //p' said >tried
		kill -TERM "$PID"
		wait "$PID"
	}
	local never='chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat setxattr fsetxattr socket'
	INSIDE=$PWD/w LD_PRELOAD=$B/tests/fault/inside.so bash -c 'kill -USR2 $$' 2>without || skip 'nothing can be preloaded here'
	same 'own: done' "$(sed -n 's/^inside: //p' without | head -n 1)"
	go() { again --listen unix:s/socket "$@"; }
	go -m "$M"
	same "$never" "$(sed -n 's/: EPERM$//p' tried | paste -sd ' ')"
	same 'own remove target write' "$(sed -n 's/: EACCES$//p' tried | paste -sd ' ')"
	[ -e w/own/file ] && [ -e w/outside/file ] && [ -e w/target ] && [ ! -e s/socket ]
	go -m "$M" --files-dir w/own
	same "$never" "$(sed -n 's/: EPERM$//p' tried | paste -sd ' ')"
	same 'remove target write' "$(sed -n 's/: EACCES$//p' tried | paste -sd ' ')"
	same 'own: done' "$(grep done tried)"
	again -m "$M" --listen 127.0.0.1:0
	same 'own remove target write' "$(sed -n 's/: EACCES$//p' tried | paste -sd ' ')"
	# what is in the folder of the socket may go: the kernel knows folders only
	again -m "$M" --listen unix:w/own/socket
	same 'own: done' "$(grep done tried)"
	[ ! -e w/own/socket ] && [ -e w/outside/file ]
	# files of the folder of the access log can be written and created, since the log may be renamed, but not removed
	again -m "$M" --listen 127.0.0.1:0 --access-log w/outside/log
	same 'own remove target write' "$(sed -n 's/: EACCES$//p' tried | paste -sd ' ')"
	again -m "$M" --listen 127.0.0.1:0 --access-log w/log
	same 'own remove target' "$(sed -n 's/: EACCES$//p' tried | paste -sd ' ')"
	[ -e w/own/file ] && [ -e w/outside/file ] && [ -e w/target ]
}

@test "--sandbox: the same bytes, one prompt, records, scores, batches, tokens" {
	need_sandbox
	printf 'on a day the fox' >text
	printf '{"prompt":"on a day","max_tokens":9,"logprobs":1}\n{"id":"x","prompt":"the","n":2}\n' >in
	# records hold times
	timeless() { sed -E 's/"[a-z_]*_(ms|tok_s)":[0-9.e+-]+,?//g; s/"created":[0-9]+,?//g'; }
	alike() { # ARGUMENT...
		infer-run "$@" -n 12 --seed 3 <text 2>&1 | timeless >want
		infer-run --sandbox "$@" -n 12 --seed 3 <text 2>&1 | timeless >got
		[ -s want ] && cmp want got
	}
	alike
	alike -t 3 -f text
	alike -o jsonl --logprobs 2
	alike -o tokens
	alike --echo --raw -m demo
	alike -m demo --system 'You are brief.'
	infer-run --score -f text --no-stdin >want
	infer-run --score -f text --no-stdin --sandbox | cmp - want
	infer-run --tokenize <text >ids
	infer-run --tokenize --sandbox <text | cmp - ids
	infer-run --detokenize --sandbox <ids | cmp - text
	infer-run -m demo --render <text >want
	infer-run -m demo --render --sandbox <text | cmp - want
	infer-run --batch in -t 2 | timeless | sort >want
	infer-run --batch in -t 2 --sandbox | timeless | sort | cmp - want
	infer-run --batch - -t 2 --sandbox <in | timeless | sort | cmp - want
	infer-run --batch in --resume kept
	infer-run --batch in --resume other --sandbox
	cmp <(timeless <kept | sort) <(timeless <other | sort)
	head -n 1 kept >other
	infer-run --batch in --resume other --sandbox
	cmp <(timeless <kept | sort) <(timeless <other | sort)
	infer-run --sandbox --stats -n 2 <text 2>&1 >/dev/null | grep -q since_exec_ms
}

@test "--sandbox is in force while the model computes" {
	need_sandbox
	mkfifo hold
	infer-run --sandbox --batch - <hold >out &
	local pid=$! tries=0
	exec 7>hold
	echo '{"prompt":"a","max_tokens":2}' >&7
	until [ -s out ]; do
		tries=$((tries + 1))
		[ $tries -lt 600 ]
		sleep 0.05
	done
	for t in /proc/$pid/task/*; do
		grep -q '^Seccomp:.*2$' "$t/status"
		grep -q '^NoNewPrivs:.*1$' "$t/status"
	done
	exec 7>&-
	wait $pid
}

@test "every subject of infer-inspect works in it, from files that are read before" {
	printf 'on a day' >text
	for m in "$M" "$SPM" demo; do
		for s in show tensors verify; do
			infer-inspect $s -m "$m" >out
			infer-inspect $s -m "$m" --json | json kind >kinds
			[ -s out ] && [ -s kinds ]
		done
		infer-inspect tokens -m "$m" -f text --no-stdin >out
		infer-inspect tokens -m "$m" <text | cmp - out
	done
	infer-inspect template -m demo -f text >out
	grep -q 'on a day' out
	printf '{{ messages[0].content }}!' >t.jinja
	infer-inspect template -m demo --template t.jinja -f text | grep -q '^on a day!$'
	infer-inspect template -m demo --source >out
	[ -s out ]
	infer-inspect hw | grep -q kernels
	need_sandbox
	# it is there without being asked for
	mkfifo hold
	infer-inspect tokens -m "$M" -f hold --no-stdin >out &
	local pid=$!
	exec 7>hold
	grep -q '^Seccomp:.*2$' /proc/$pid/status
	echo day >&7
	exec 7>&-
	wait $pid
	[ -s out ]
}

@test "where the kernel has none, --sandbox fails, infer-inspect goes on, and says so with -v" {
	[ -z "$WHY_NOT" ] || fails 1 "--sandbox: $WHY_NOT" infer-run --sandbox --no-stdin hello
	need_sandbox
	for how in '' --score --tokenize; do
		# shellcheck disable=SC2086
		fails 1 '--sandbox: the kernel refuses filters of system calls: Function not implemented' \
			sandbox --without infer-run --sandbox --no-stdin $how hello
	done
	echo '{"prompt":"a"}' >in
	fails 1 '--sandbox: the kernel' sandbox --without infer-run --sandbox --batch in
	infer-inspect show -m "$M" >want
	sandbox --without infer-inspect show -m "$M" 2>err | cmp - want
	[ ! -s err ]
	sandbox --without infer-inspect show -v -m "$M" 2>&1 >/dev/null | grep -q 'no sandbox: the kernel refuses filters'
}

@test "--sandbox does not go with -i, which opens files" {
	fails 2 '--sandbox does not go with -i' infer-run -i --sandbox
}
