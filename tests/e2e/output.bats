# how output is written: at once, to a file that is whole, some fields of records
load lib

go() { infer-run -q --no-stdin --ignore-eos "$@"; }
# nothing but these files is here
here() { find . -mindepth 1 | sed 's:^\./::' | sort | xargs; }
only() { same "$*" "$(here)"; }

@test "--no-stream writes the whole answer with one write" {
	command -v strace >/dev/null || skip "needs strace (package strace)"
	writes() { strace -f -e trace=write -e write=1 -o trace infer-run "$@" >out </dev/null; grep -c 'write(1,' trace; }
	[ "$(writes -q -n 9 --seed 1 --ignore-eos the)" -gt 5 ]
	same 1 "$(writes -q -n 9 --seed 1 --ignore-eos --no-stream the)"
	same 1 "$(writes -q -n 9 --seed 1 --ignore-eos --no-stream -o tokens the)"
	same 1 "$(writes -q -n 9 --seed 1 --ignore-eos --no-stream --echo the)"
	same 2 "$(writes -q -n 9 --seed 1 --ignore-eos --no-stream --repeat 2 the)"
}

@test "--no-stream writes what is written otherwise, and long answers are not mixed" {
	for form in text jsonl tokens; do
		go --seed 2 -n 40 -o $form the | sed -E 's/"(timings":\{[^}]*\}|created":[0-9]*)//g' >want
		go --seed 2 -n 40 -o $form --no-stream the | sed -E 's/"(timings":\{[^}]*\}|created":[0-9]*)//g' | cmp - want
	done
	go --seed 2 -n 200 --no-stream the >want
	for _ in 1 2 3 4 5 6; do go --seed 2 -n 200 --no-stream the & done >all
	wait
	cat want want want want want want | cmp - all
	fails 2 '--no-stream does not go with -i' infer-run -i --no-stream
}

@test "--out has every form of output, and nothing else is left" {
	mkdir here && cd here
	go --seed 2 -n 20 the >../want
	go --seed 2 -n 20 --out a the >../out
	[ ! -s ../out ]
	cmp a ../want
	go --seed 2 -n 4 --out b -o tokens the
	same 4 "$(wc -l <b)"
	go --seed 2 -n 4 --out c --json the
	same completion "$(json kind <c)"
	printf '{"prompt":"the","max_tokens":2}\n{"prompt":5}\n' >../in
	rc=0
	infer-run -q --batch ../in --out d 2>../err || rc=$?
	same 7 $rc
	same 2 "$(wc -l <d)"
	printf 'the\nof\n' | infer-run -q --lines -n 3 --out e
	same 2 "$(wc -l <e)"
	echo the of | infer-run -q --tokenize --out f
	cmp f <(echo the of | infer-run -q --tokenize)
	rc=0
	go --fail-on-length -n 2 --out g the || rc=$?
	same 6 $rc
	[ -s g ]
	only a b c d e f g
}

@test "--out takes the place of a file that is there, with its mode, and follows links" {
	mkdir here && cd here
	echo old >real
	chmod 600 real
	ln -s real link
	go -n 1 --seed 1 --out link the
	same 600 "$(stat -c %a real)"
	[ -L link ]
	cmp real <(go -n 1 --seed 1 the)
	only link real
	(umask 027; go -n 1 --out new the)
	same 640 "$(stat -c %a new)"
}

@test "when the output is not complete, --out leaves what was there and no temporary file" {
	mkdir here && cd here
	echo old >out
	rc=0
	# a file that may not grow: as a full disk
	(ulimit -f 1; go -n 300 -o tokens --out out the) 2>../err || rc=$?
	same 1 $rc
	grep -q 'cannot write' ../err
	rc=0
	go -n 3 --out out --kv-type nosuch the 2>../err || rc=$?
	same 2 $rc
	rc=0
	go --out out -c 8 the of and the of and the of and the of and 2>../err || rc=$?
	same 4 $rc
	for sig in INT TERM HUP; do
		mkfifo ../hold
		# bash has the others of its children ignore SIGINT, and nohup SIGHUP
		perl -e '$SIG{$_} = "DEFAULT" for qw(INT TERM HUP); exec @ARGV' infer-run -q --batch - --out out <../hold &
		pid=$! tries=0
		exec 7>../hold
		echo '{"prompt":"the","max_tokens":2}' >&7
		until [ "$(here | wc -w)" = 2 ]; do
			tries=$((tries + 1))
			[ $tries -lt 400 ]
			sleep 0.05
		done
		kill -$sig $pid
		rc=0
		wait $pid || rc=$?
		same $((128 + $(kill -l $sig))) $rc
		exec 7>&-
		rm ../hold
	done
	same old "$(cat out)"
	only out
}

@test "--out refuses what cannot be, by name" {
	echo the >text
	echo '{"prompt":"the"}' >in
	fails 2 '--out text is text, which is read' infer-run --no-stdin -f text --out text
	fails 2 '--out \./in is in, which is read' infer-run --batch in --out ./in
	cp "$M" model.gguf
	fails 2 '--out model.gguf is model.gguf, which is read' infer-run -m model.gguf --no-stdin --out model.gguf the
	fails 2 '--out in is in, which is read' infer-run --replay in --out in
	rc=0
	# shellcheck disable=SC2094 # that is what is refused
	infer-run --out text <text 2>err || rc=$?
	same 2 $rc
	grep -q -- '--out text is standard input, which is read' err
	fails 1 '/dev/full: not a regular file' infer-run --no-stdin --out /dev/full the
	fails 1 'nosuch/out: No such file' infer-run --no-stdin --out nosuch/out the
	fails 2 '--resume does not go with --out' infer-run --batch in --resume o --out p
	fails 2 '--out does not go with -i' infer-run -i --out p
	fails 2 '--sandbox does not go with --out' infer-run --no-stdin --sandbox --out p the
	[ ! -e p ]
	same the "$(cat text)"
}

@test "--fields leaves what was asked for, and kind and v" {
	keys() { perl -MJSON::PP -ne 'print join(" ", sort keys %{decode_json($_)}), "\n"'; }
	same 'kind text v' "$(go --json -n 2 --fields text the | keys)"
	same 'created id kind usage v' "$(go --json -n 2 --fields usage,id,created the | keys)"
	same 'kind logprobs tokens v' "$(go --json -n 2 --logprobs 1 --fields tokens,logprobs the | keys)"
	same "$(printf '%s\n' 'id kind v' 'id kind')" "$(go -o tokens -n 2 --fields id the | keys)"
	same 'kind perplexity v' "$(infer-run -q --no-stdin --score --json --fields perplexity the of and | keys)"
	printf '%s\n' '{"prompt":"the","max_tokens":2}' '{"prompt":5}' >in
	same "$(printf '%s\n' 'id kind message v' 'id kind text')" "$(infer-run -q --batch in --fields message,id,text 2>err | keys)"
	echo '{"custom_id":"c","method":"POST","url":"/v1/completions","body":{"prompt":"the","max_tokens":2}}' >in
	same 'custom_id error id response' "$(infer-run -q --batch in --fields id | keys)"
	go --json -n 2 --with-request --fields text,request,run the >one
	same '1 record, all the same: text of 1, ids of 0, log-probabilities of 0' "$(infer-run --replay one)"
	same 'id kind same v' "$(infer-run --replay one -o jsonl --fields id,same | keys)"
	fails 2 "--fields: 'txet' is not a field of records" go --json --fields text,txet the
	fails 2 '--fields goes with -o jsonl, -o tokens or --batch only' go --fields text the
	fails 2 '--resume does not go with --fields' infer-run --batch in --resume o --fields id
}
