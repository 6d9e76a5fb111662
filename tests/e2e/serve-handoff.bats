# infer-run --server: what it prints is what it prints where it computes itself
load lib
load serve

setup_more()
{
	export SOCK=$BATS_FILE_TMPDIR/s PLAIN=$BATS_FILE_TMPDIR/plain
	infer-serve -m demo -t 1 --listen "unix:$SOCK" >listening 2>said &
	echo $! >"$BATS_FILE_TMPDIR/pid"
	infer-serve -m "$M" -t 1 --listen "unix:$PLAIN" >listening2 2>said &
	echo $! >>"$BATS_FILE_TMPDIR/pid"
	up listening
	up listening2
}
teardown_file()
{
	while read -r pid; do
		kill -TERM "$pid"
	done <"$BATS_FILE_TMPDIR/pid"
}
# alike MODEL SOCKET OPTION...: the same bytes and exit code, and there is something
alike()
{
	local model=$1 socket=$2 here=0 there=0

	shift 2
	infer-run -q -m "$model" --no-stdin "$@" >here 2>why || here=$?
	env -u INFER_MODEL infer-run -q --server "unix:$socket" --no-stdin "$@" >there 2>why2 || there=$?
	[ -s here ] && [ "$here" = "$there" ] && diff <(still here) <(still there) && return
	echo "$*: $here, $there"
	cat why why2
	return 1
}
demo() { alike demo "$SOCK" "$@"; }
plain() { alike "$M" "$PLAIN" "$@"; }

@test "text, records and tokens, by every kind of sampling" {
	demo --temp 0 "What is a token?"
	demo --temp 0 --no-stream "What is a token?"
	demo --seed 7 -n 5 -o jsonl --logprobs 2 "What is a token?"
	demo --seed 7 -n 12 -o tokens --logprobs 3 "What is a token?"
	plain --seed 18446744073709551615 --temp 1.3 -n 30 the of
	plain --seed 3 --temp 1.5 --top-k 30 --top-p 0.8 --min-p 0.01 -n 30 -o jsonl --ignore-eos the of
	plain --seed 4 --mirostat 2 --mirostat-tau 3.3 -n 30 -o tokens the of
	plain --seed 5 --repeat-penalty 1.3 --frequency-penalty 0.2 --samplers 'penalties,top_k,temperature' -n 30 -o jsonl the of
	plain --seed 6 --dry-multiplier 0.8 --dry-sequence-breaker none --dry-sequence-breaker and -n 30 -o jsonl the of
	plain --seed 7 --logit-bias 32=-inf --logit-bias 5=3.5 -n 30 -o jsonl the of
	# the model has no template: ChatML
	plain --temp 0 --system S -n 30 the of
}

@test "where it ends: stop, ids, lengths, several runs, chosen fields" {
	plain --seed 3 --temp 1.3 -n 30 --stop and --stop e -o jsonl the of
	plain --seed 3 --temp 1.3 -n 30 --stop-token 30 --stop-token 31 -o jsonl the of
	plain --seed 3 -n 0 -o jsonl the of
	plain --seed 3 -n 5 --fail-on-length --ignore-eos the of
	plain --seed 3 -n 5 --repeat 3 -o jsonl the of
	plain --seed 3 -n 5 -o jsonl --fields text,run the of
	# longer than the context: the record of an error, and its exit code
	plain --seed 3 -n 5 -o jsonl "$(yes the of and | head -n 2000)"
	same error "$(json kind <there)"
}

@test "constraints and conversations" {
	plain --seed 3 -n 40 --regex '[a-c]{9,}' the
	plain --seed 3 -n 40 --choice yes --choice no -o tokens the
	plain --seed 3 -n 40 --json-schema '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}' -o jsonl the
	plain --seed 3 -n 40 --json-object -o jsonl the
	echo '[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."}]' >m.json
	demo --messages m.json --seed 4 -n 12 -o jsonl "What is a token?"
	demo --messages m.json --seed 4 -n 12 # the last turn goes on
	demo --system "Be brief." --template-args '{"a":1}' --seed 4 -n 12 -o jsonl "What is a token?"
	demo --raw --seed 4 -n 12 -o jsonl "What is a token?"
}

@test "what cannot be handed over is refused by name, and so is a server that is not there" {
	unset INFER_MODEL
	for o in -i --tokenize --score --echo --stats --special --no-jump --ctx=9; do
		fails 2 "${o%=*} cannot be handed to a server \(--server\)" infer-run --server "unix:$SOCK" $o
	done
	INFER_SERVER=unix:$SOCK fails 2 "--render cannot be handed to a server \(INFER_SERVER\)" infer-run --render hi
	fails 1 'no server at unix:none: No such file' infer-run --server unix:none hi
	fails 1 'no server at http://127.0.0.1:1: ' infer-run --server http://127.0.0.1:1 hi
	fails 3 'https is not supported' infer-run --server https://localhost hi
	fails 2 'neither http://HOST\[:PORT\] nor unix:PATH' infer-run --server http://a:b hi
	fails 2 'neither http://HOST' infer-run --server a:b hi
	fails 2 'neither http://HOST' infer-run --server ftp://a hi
	fails 2 'neither http://HOST' infer-run --server ./socket hi
	# without a scheme it is HTTP
	fails 1 'no server at 127.0.0.1:1: ' infer-run --server 127.0.0.1:1 hi
	fails 2 'the model here is .*, not other.gguf' infer-run --server "unix:$SOCK" -m other.gguf hi
	fails 2 'the prompt is not UTF-8' infer-run --server "unix:$SOCK" --raw "$(printf 'a\377')"
	# the other names of the model that is served
	same "$(infer-run -q -m "$M" --temp 0 -n 5 the)" "$(INFER_SERVER=unix:$PLAIN infer-run -q -m "$M" --temp 0 -n 5 the)"
}

@test "the address may end in /v1, as other clients take it" {
	env --default-signal=INT,TERM,PIPE infer-serve -m "$M" -t 1 --listen 127.0.0.1:0 >up 2>said 3>&- &
	PID=$!
	up up
	local at want
	at=$(cat up)
	want=$(infer-run -q -m "$M" --temp 0 -n 5 the)
	for end in '' / /v1 /v1/; do
		same "$want" "$(env -u INFER_MODEL infer-run -q --server "$at$end" --no-stdin --temp 0 -n 5 the)"
	done
	same "$want" "$(INFER_MODEL='' infer-run -q --server "${at#http://}/v1" --no-stdin --temp 0 -n 5 the)"
	fails 1 'there is no /v2/v1/infer' env -u INFER_MODEL infer-run --server "$at/v2" the
	fails 1 'there is no /av1/v1/infer' env -u INFER_MODEL infer-run --server "$at/av1" the
}

@test "a server that speaks something else, or breaks off" {
	# each answer comes from a socket that says it and closes
	answer() { rm -f fake ready; perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Local => "fake", Listen => 1); open $r, ">", "ready"; close $r; $c = $s->accept; sysread $c, $b, 65536; print $c $ARGV[0]' "$1" 3>&- & until [ -e ready ]; do sleep 0.02; done; }
	local ok=$'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
	answer $'SSH-2.0-x\r\n'
	fails 1 'does not speak HTTP/1.1' infer-run --server unix:fake hi
	answer $'HTTP/1.1 404 Not Found\r\nContent-Length: 33\r\n\r\n{"error":{"message":"not there"}}'
	fails 1 'answered with status 404: not there' infer-run --server unix:fake hi
	answer "$ok"$'5\r\nda'
	fails 1 'was closed before' infer-run --server unix:fake hi
	answer "$ok"$'zz\r\n'
	fails 1 'does not speak HTTP/1.1' infer-run --server unix:fake hi
	answer "$ok"$'0\r\n\r\n'
	fails 1 'was closed before' infer-run --server unix:fake hi
	# cut anywhere: in a chunk's head, in a line
	answer "$ok"$'9\r\ndata: {"t\r\n26\r\next":"ab","finish_reason":"stop"}\n\ndata\r\n0\r\n\r\n'
	same ab "$(infer-run -q --server unix:fake hi)"
}

@test "a signal ends it, and its request on the server" {
	slow_model slow.gguf --layers 8 --embd 256
	infer-serve -m slow.gguf -t 1 --listen unix:own >up 2>said 3>&- &
	PID=$!
	up up
	env --default-signal=INT infer-run -q --no-stdin --server unix:own --ignore-eos -n 90000 the >out 3>&- &
	local client=$! rc=0
	up out
	kill -INT $client
	wait $client || rc=$?
	same 130 "$rc"
	until_same 0 gauge num_requests_running
	end_server
}
