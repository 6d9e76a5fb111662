# infer-serve: OpenAI's files and batches, on a directory
load lib
load serve

# keep OPTION...: a server that keeps files in ./kept
keep() { serve -m "$M" --files-dir kept "$@"; }
# form FILE PURPOSE [NAME]: an upload of FILE, to out
form() { own upload "${@:2}" <"$1" >out; }
# requests N: so many lines
requests()
{
	for i in $(seq "$1"); do
		echo "{\"custom_id\":\"r$i\",\"method\":\"POST\",\"url\":\"/v1/completions\",\"body\":{\"prompt\":\"the of\",\"seed\":$i,\"ignore_eos\":true,\"max_tokens\":$((i % 5 ? 20 : -9))}}"
	done
}
# ended ID: wait until the batch is over; what it is then, to out
ended()
{
	for _ in $(seq 300); do
		own ask GET "/v1/batches/$1" >out
		case $(json status <out) in completed | failed | cancelled | expired) return ;; esac
		sleep 0.05
	done
	return 1
}

@test "files: an upload is there whole, listed, read and deleted; names are no paths; what is wrong is refused by name" {
	keep --max-file 5000
	requests 3 >three
	form three batch ../../etc/passwd
	same "file batch ../../etc/passwd processed" "$(json object <out) $(json purpose <out) $(json filename <out) $(json status <out)"
	ID=$(json id <out)
	same "$(wc -c <three)" "$(json bytes <out)"
	own ask GET "/v1/files/$ID/content" | cmp three
	same "$(cat out)" "$(own ask GET "/v1/files/$ID")"
	same "$ID" "$(own ask GET '/v1/files?purpose=batch&limit=5' | json data.0.id)"
	same 0 "$(own ask GET '/v1/files?purpose=evals' | json data.#)"
	[ ! -e etc ]
	for path in /v1/files/file-x "/v1/files/..%2flock" /v1/files/lock "/v1/files/$ID.json" /v1/batches/batch_x; do
		own ask GET $path >out
		same 404 "$(status)"
	done
	form three odd
	same 'purpose 400' "$(json error.param <out) $(status)"
	form /dev/null batch
	same 'file 400' "$(json error.param <out) $(status)"
	own ask POST /v1/files '{}' >out
	same 415 "$(status)"
	# the body in two segments, cut everywhere; test_form.c cuts it in three
	perl -MIO::Socket::UNIX -e '
		my $b = "--bb\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nevals\r\n--bb\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n\r\n--b\r\n--bbb\r\n--bb--\r\n";
		for my $cut (1 .. length($b) - 1) {
			my $s = IO::Socket::UNIX->new(Peer => "own") or die;
			syswrite $s, "POST /v1/files HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=bb\r\nContent-Length: " . length($b) . "\r\n\r\n";
			syswrite $s, substr($b, 0, $cut);
			syswrite $s, substr($b, $cut);
			my $got = do { local $/; <$s> };
			die "cut at $cut: $got" if $got !~ /"bytes":12,/;
		}'
	for id in $(own ask GET '/v1/files?purpose=evals' | json data | grep -o 'file-[0-9a-f]*'); do
		own ask DELETE "/v1/files/$id" >deleted
	done
	requests 60 >long
	form long batch
	same 413 "$(status)"
	same 1 "$(own ask GET /v1/files | json data.#)"
	same true "$(own ask DELETE "/v1/files/$ID" | json deleted)"
	own ask GET "/v1/files/$ID/content" >out
	same 404 "$(status)"
	same lock "$(ls -A kept)"
	fails 1 'another server has its files there' infer-serve -m "$M" --listen unix:other --files-dir kept
}

@test "batches: answers are those of requests, errors stand apart, a bad file names its lines, and one that is cancelled ends" {
	keep
	requests 10 >ten
	form ten batch
	ID=$(json id <out)
	own ask POST /v1/batches "{\"input_file_id\":\"$ID\",\"endpoint\":\"/v1/completions\",\"completion_window\":\"24h\",\"metadata\":{\"a\":\"b\"}}" >out
	ended "$(json id <out)"
	same 'completed {"a":"b"} 8 2 10' "$(json status <out) $(json metadata <out) $(json request_counts.completed <out) $(json request_counts.failed <out) $(json request_counts.total <out)"
	own ask GET "/v1/files/$(json output_file_id <out)/content" >answers
	own ask GET "/v1/files/$(json error_file_id <out)/content" >errors
	same "$(requests 10 | json custom_id | sort)" "$(cat answers errors | json custom_id | sort)"
	same '400 max_tokens' "$(json response.status_code <errors | sort -u) $(json response.body.error.param <errors | sort -u)"
	own ask POST /v1/completions "$(grep '"r3"' ten | json body)" >alone
	same "$(json choices.0.text <alone)" "$(grep '"r3"' answers | json response.body.choices.0.text)"
	printf '{"custom_id":"a","method":"GET","url":"/v1/completions","body":{}}\nx\n{"custom_id":"a","method":"POST","url":"/v1/completions","body":{}}\n' >bad
	form bad batch
	own ask POST /v1/batches "{\"input_file_id\":\"$(json id <out)\",\"endpoint\":\"/v1/completions\",\"completion_window\":\"24h\"}" >out
	ended "$(json id <out)"
	same 'failed invalid_method invalid_json_line 2' "$(json status <out) $(json errors.data.0.code <out) $(json errors.data.1.code <out) $(json errors.data.1.line <out)"
	requests 2000 >many
	form many batch
	own ask POST /v1/batches "{\"input_file_id\":\"$(json id <out)\",\"endpoint\":\"/v1/completions\",\"completion_window\":\"24h\"}" >out
	B=$(json id <out)
	own ask POST "/v1/batches/$B/cancel" >out
	ended "$B"
	same cancelled "$(json status <out)"
	for body in '{}' '{"input_file_id":"file-x"}' "{\"input_file_id\":\"$ID\",\"endpoint\":\"/v1/odd\"}" "{\"input_file_id\":\"$ID\",\"endpoint\":\"/v1/embeddings\",\"completion_window\":\"1h\"}"; do
		own ask POST /v1/batches "$body" | json error.param
	done >params
	same 'input_file_id input_file_id endpoint completion_window' "$(tr '\n' ' ' <params | sed 's/ $//')"
}

@test "a batch goes on after kill -9: no line is lost, none is answered twice" {
	keep
	requests 300 >many
	form many batch
	own ask POST /v1/batches "{\"input_file_id\":\"$(json id <out)\",\"endpoint\":\"/v1/completions\",\"completion_window\":\"24h\"}" >out
	B=$(json id <out)
	for wait in 0.02 0.1 0.05 0.2; do
		sleep $wait
		{ kill -KILL "$PID" && wait "$PID"; } 2>/dev/null || :
		# a line that was being written
		! grep -q '"status":"in_progress"' "kept/$B" || printf '{"custom_id":"r1' >>"kept/$B.err"
		keep
	done
	ended "$B"
	same 'completed 240 60' "$(json status <out) $(json request_counts.completed <out) $(json request_counts.failed <out)"
	{
		own ask GET "/v1/files/$(json output_file_id <out)/content"
		own ask GET "/v1/files/$(json error_file_id <out)/content"
	} | json custom_id | sort >ids
	same "$(json custom_id <many | sort)" "$(cat ids)"
}

@test "without --files-dir the paths of files and batches are refused, and the message names the option" {
	serve -m "$M"
	own upload batch x </dev/null | json error.message | grep -qx '/v1/files needs --files-dir: this server runs without'
	same 501 "$(status)"
	own ask GET /v1/files/file-x/content | json error.message | grep -qx '/v1/files/\* needs --files-dir: this server runs without'
	own ask POST /v1/batches '{}' | json error.message | grep -qx '/v1/batches needs --files-dir: this server runs without'
	same 501 "$(status)"
	own ask GET /v1/batches/batch_x >out
	same 501 "$(status)"
}

@test "keys: files and batches of one are not there for another, nor for a server without keys" {
	printf 'one\ntwo\n' >keys
	keep --api-key-file keys
	requests 2 >two
	own upload batch in.jsonl 'X-Api-Key: one' <two >out
	ID=$(json id <out)
	same null "$(json owner <out)"
	same "$(cat out)" "$(own ask GET "/v1/files/$ID" '' 'X-Api-Key: one')"
	own ask GET "/v1/files/$ID/content" '' 'X-Api-Key: one' | cmp two
	other() { own ask "$@" 'X-Api-Key: two' >out; status; }
	same '404 404 404' "$(other GET "/v1/files/$ID" '') $(other GET "/v1/files/$ID/content" '') $(other DELETE "/v1/files/$ID" '')"
	other GET /v1/files '' >/dev/null
	same 0 "$(json data.# <out)"
	B="{\"input_file_id\":\"$ID\",\"endpoint\":\"/v1/completions\",\"completion_window\":\"24h\"}"
	same '400 input_file_id' "$(other POST /v1/batches "$B") $(json error.param <out)"
	BATCH=$(own ask POST /v1/batches "$B" 'X-Api-Key: one' | json id)
	same '404 404 200' "$(other GET "/v1/batches/$BATCH" '') $(other POST "/v1/batches/$BATCH/cancel" '{}') $(other GET /v1/batches '')"
	same 0 "$(json data.# <out)"
	same "$BATCH" "$(own ask GET /v1/batches '' 'X-Api-Key: one' | json data.0.id)"
	for _ in $(seq 2400); do
		own ask GET "/v1/batches/$BATCH" '' 'X-Api-Key: one' >out
		[ "$(json status <out)" != completed ] || break
		sleep 0.05
	done
	same null "$(json owner <out)"
	OUT=$(json output_file_id <out)
	same '404 200' "$(other GET "/v1/files/$OUT" '') $(own ask GET "/v1/files/$OUT/content" '' 'X-Api-Key: one' >out; status)"
	# the owner survives the server
	kill -TERM $PID
	wait $PID
	keep
	own ask GET "/v1/files/$ID" >out
	same '404 404' "$(status) $(own ask GET "/v1/batches/$BATCH" >out; status)"
}

# full OPTION...: a server whose disk has room for as many bytes as the file ./full has, while that exists
full()
{
	[ -e "$B/tests/fault/fault.so" ] || skip "needs a build without sanitizers: calls are made to fail"
	rm -f up
	FAULT_FULL=$PWD/full FAULT_ROOT=$PWD LD_PRELOAD=$B/tests/fault/fault.so \
		env --default-signal=INT,TERM,PIPE infer-serve -t 2 -m "$M" --listen unix:own --files-dir kept "$@" >up 2>said 3>&- &
	PID=$!
	up up
}
# said TEXT [N]: until standard error of the server has N (1) lines with it
said()
{
	for _ in $(seq 400); do
		[ "$(grep -c "$1" said)" -lt "${2:-1}" ] || return 0
		sleep 0.05
	done
	cat said
	return 1
}

@test "a disk that is full for a moment: the batch waits, no answer is lost or computed twice; so it is after a stop" {
	full
	requests 200 >many
	form many batch
	IN="{\"input_file_id\":\"$(json id <out)\",\"endpoint\":\"/v1/completions\",\"completion_window\":\"24h\"}"
	# for the batch, its status and some answers
	truncate -s 20000 full
	own ask POST /v1/batches "$IN" >out
	BATCH=$(json id <out)
	said 'No space left on device: it continues when there is room'
	own ask GET "/v1/batches/$BATCH" >out
	same in_progress "$(json status <out)"
	[ "$(json request_counts.completed <out)" -ge 3 ]
	# neither a file nor a batch can be added now, and both say why
	form many batch
	same '503 unavailable_error' "$(status) $(json error.type <out)"
	json error.message <out | grep -q 'No space left'
	same 503 "$(own ask POST /v1/batches "$IN" >out; status)"
	rm full
	ended "$BATCH"
	same 'completed 160 40' "$(json status <out) $(json request_counts.completed <out) $(json request_counts.failed <out)"
	{
		own ask GET "/v1/files/$(json output_file_id <out)/content"
		own ask GET "/v1/files/$(json error_file_id <out)/content"
	} >answers
	json custom_id <answers | sort >ids
	json custom_id <many | sort | cmp - ids
	# each was computed once: the answers are no more than those that were counted
	same 160 "$(own ask GET /metrics | sed -n 's/^infer_request_success_total{.*"length"} //p')"
	said 'it continues$'
	# a server that is stopped meanwhile ends at once, and the next one goes on
	truncate -s 20000 full
	own ask POST /v1/batches "$IN" >out
	BATCH=$(json id <out)
	said 'it continues when there is room' 2
	kill -TERM $PID
	rc=0
	wait $PID || rc=$?
	same 0 "$rc"
	: >full
	full
	said 'it continues when there is room'
	rm full
	ended "$BATCH"
	same 'completed 160 40' "$(json status <out) $(json request_counts.completed <out) $(json request_counts.failed <out)"
}

@test "the access log: of its owner alone; goes on after a full disk, without a torn line; SIGHUP opens it by its name again" {
	umask 022
	full --access-log log
	same 600 "$(stat -c %a log)"
	ask() { own ask GET /health '' "X-Request-Id: $1" >out; }
	ask a
	: >full
	for id in b c d; do ask $id; done
	said 'the access log cannot be written: No space left on device'
	rm full
	said 'the access log is written again; 0 lines were lost'
	ask e
	for _ in $(seq 100); do [ "$(wc -l <log)" -lt 5 ] || break; sleep 0.05; done
	same 'a b c d e' "$(json id <log | paste -sd' ')"
	# more than it keeps: lines are lost whole, and counted
	: >full
	perl -e 'print "{\"content\":\"a\"}\n" x 4500' | own many 8 /tokenize "X-Request-Id: $(perl -e 'print "x" x 120')" >out
	rm full
	said 'the access log is written again; [1-9][0-9]* lines were lost'
	same "$(wc -l <log)" "$(json kind <log | grep -c access)"
	mv log log.1
	kill -HUP $PID
	for _ in $(seq 100); do [ ! -e log ] || break; sleep 0.05; done
	same 600 "$(stat -c %a log)"
	n=$(wc -l <log.1)
	ask f
	for _ in $(seq 100); do [ ! -s log ] || break; sleep 0.05; done
	same "f $n" "$(json id <log) $(wc -l <log.1)"
}

@test "names with %00 are none: files, batches, models, paths" {
	keep
	requests 1 >one
	form one batch
	ID=$(json id <out)
	for path in "/v1/files/$ID" "/v1/files/$ID/content" "/v1/models/$(own ask GET /v1/models | json data.0.id)" /health; do
		own ask GET "${path// /%20}" >out
		same "$path 200" "$path $(status)"
		for tail in %00 %00x %2500; do
			own ask GET "${path// /%20}$tail" >out
			same "$path$tail 404" "$path$tail $(status)"
		done
	done
	own ask DELETE "/v1/files/$ID%00" >out
	same 404 "$(status)"
	own ask GET "/v1/files/$ID" >out
	same 200 "$(status)"
	for value in 999999999999999 1000001 0 -1; do
		own ask POST /v1/completions '{"prompt":"the","max_tokens":1}' "X-Request-Timeout: $value" >out
		same "$value 400" "$value $(status)"
	done
	own ask POST /v1/completions '{"prompt":"the","max_tokens":1}' 'X-Request-Timeout: 1000000' >out
	same 200 "$(status)"
}
