# infer-serve with API keys of several groups: none can observe what another sends, keeps or gets
load lib
load serve

# words N SEED: N prompts of 40 words, a line each
words()
{
	perl -e 'srand $ARGV[1]; my @w = qw(red blue green dog cat house tree river stone bread salt wind moon star night day);
		for (1 .. $ARGV[0]) { print join(" ", map { $w[rand @w] } 1 .. 40), "\n" }' "$@"
}
as() { local key=$1; shift; own "$@" "X-Api-Key: $key"; }
# fixed: answers without names and times
fixed() { perl -pe 's/"(id|created|request_id)":("[^"]*"|\d+)/"$1":0/g; s/"(\w+_ms|\w+_per_second|\w+_s)":[-\d.e]+/"$1":0/g'; }

@test "probes with the prompts of another key: counts and fields are those of a server that has never seen these prompts" {
	n=$([ "${LONG:-0}" = 1 ] && echo 1000 || echo 50)
	# with room for all prompts: what others need is not observed here
	printf 'alpha\nbeta\nthird group=both\nfourth group=both weight=2\n' >keys
	words "$n" 1 >secret
	words "$n" 2 >other
	probe() {
		for form in /completion /v1/completions; do
			prompts <secret | as "$1" many 1 $form
			prompts <other | as "$1" many 1 $form
		done | fixed
	}
	prompts() { sed 's/.*/{"prompt":"&","max_tokens":2,"n_predict":2,"seed":1,"temperature":1,"timings_per_token":true}/'; }
	serve -m "$M" --api-key-file keys --kv-bytes 512M
	probe beta >alone
	same $((4 * n)) "$(wc -l <alone)"
	end_server
	serve -m "$M" --api-key-file keys --kv-bytes 512M
	prompts <secret | as alpha many 4 /completion >sent
	prompts <secret | as alpha many 1 /completion >again
	# alpha has them in its cache: its own probe would tell
	[ "$(json timings.cache_n <again | sort -n | head -n 1)" -gt 30 ]
	probe beta | cmp - alone
	# and the other way: what beta has sent, alpha would see if it could
	words "$n" 3 >secret2
	prompts <secret2 | as beta many 4 /completion >sent
	prompts <secret2 | as alpha many 1 /completion | json timings.cache_n >mine
	prompts <secret2 | as beta many 1 /completion | json timings.cache_n >theirs
	[ "$(sort -n theirs | head -n 1)" -gt 30 ]
	[ "$(sort -n mine | tail -n 1)" -lt 30 ]
	# keys of one group share, and with no other
	prompts <other | as third many 1 /completion | json timings.cache_n >first
	prompts <other | as fourth many 1 /completion | json timings.cache_n >second
	[ "$(sort -n first | tail -n 1)" -lt 30 ]
	[ "$(sort -n second | head -n 1)" -gt 30 ]
}

@test "a cache_salt, cache_prompt, batches, conversations and infer-run --server stay in their group, too" {
	printf 'alpha\nbeta\n' >keys
	serve -m demo --api-key-file keys --files-dir kept
	P=$(words 1 7)
	cached() { json usage.prompt_tokens_details.cached_tokens; }
	for salt in '' ',"cache_salt":"s"'; do
		as alpha ask POST /v1/completions "{\"prompt\":\"$P\",\"max_tokens\":1$salt}" >out
		[ "$(as alpha ask POST /v1/completions "{\"prompt\":\"$P\",\"max_tokens\":1$salt}" | cached)" -gt 30 ]
		[ "$(as beta ask POST /v1/completions "{\"prompt\":\"$P\",\"max_tokens\":1$salt}" | cached)" -lt 10 ]
	done
	# a batch shares with the requests of its key alone
	Q=$(words 1 8)
	echo "{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/completions\",\"body\":{\"prompt\":\"$Q\",\"max_tokens\":1}}" >one
	own upload batch in.jsonl 'X-Api-Key: alpha' <one >out
	BATCH=$(as alpha ask POST /v1/batches "{\"input_file_id\":\"$(json id <out)\",\"endpoint\":\"/v1/completions\",\"completion_window\":\"24h\"}" | json id)
	for _ in $(seq 1200); do
		[ "$(as alpha ask GET "/v1/batches/$BATCH" '' | tee out | json status)" != completed ] || break
		sleep 0.05
	done
	same completed "$(json status <out)"
	[ "$(as beta ask POST /v1/completions "{\"prompt\":\"$Q\",\"max_tokens\":1}" | cached)" -lt 10 ]
	[ "$(as alpha ask POST /v1/completions "{\"prompt\":\"$Q\",\"max_tokens\":1}" | cached)" -gt 30 ]
	# /v1/infer
	R=$(words 1 9)
	B="{\"request\":{\"prompt\":\"$R\",\"raw\":true,\"max_tokens\":1},\"output\":\"jsonl\"}"
	as alpha ask POST /v1/infer "$B" >out
	as alpha ask POST /v1/infer "$B" | grep -q '"cached_tokens":[3-9][0-9]'
	! as beta ask POST /v1/infer "$B" | grep -q '"cached_tokens":[3-9][0-9]'
}

@test "/slots and /metrics: other groups are not shown, an operator sees all, and so does everybody where there is one group" {
	slow_model slow.gguf --layers 8 --embd 256
	printf 'alpha\nbeta\nwatch operator\nfriend group=g\npeer group=g\n' >keys
	serve -m slow.gguf --api-key-file keys
	as beta ask GET /metrics '' >out
	same '403 permission_error' "$(status) $(json error.type <out)"
	as watch ask GET /metrics '' >out
	same 200 "$(status)"
	own stream /v1/completions '{"prompt":"the of secret","max_tokens":90000,"temperature":0.25,"ignore_eos":true,"stream":true}' 'X-Api-Key: friend' >events &
	for _ in $(seq 1200); do
		as beta ask GET /slots '' >busy
		! grep -q '"is_processing":true' busy || break
		sleep 0.05
	done
	same 'true null' "$(json 0.is_processing <busy) $(json 0.id_task <busy)"
	same 'id id_task is_processing n_ctx speculative' "$(perl -MJSON::PP -e 'print join " ", sort keys %{decode_json(<>)->[0]}' busy)"
	for key in friend peer watch; do
		as $key ask GET /slots '' >busy
		same "$key true 0.25 90000" "$key $(json 0.is_processing <busy) $(json 0.params.temperature <busy) $(json 0.params.max_tokens <busy)"
	done
	end_server
	wait || :
	printf 'friend group=g\npeer group=g\n' >keys
	serve -m "$M" --api-key-file keys
	as peer ask GET /metrics '' >out
	same 200 "$(status)"
	# another group comes: from then on nobody sees all
	printf 'friend group=g\npeer group=g\nalpha\n' >keys
	kill -HUP $PID
	for _ in $(seq 1200); do
		as alpha ask GET /version '' >out
		[ "$(status)" != 200 ] || break
		sleep 0.1
	done
	as peer ask GET /metrics '' >out
	same 403 "$(status)"
	for bad in 'a group=' 'a group=b/c' "a group=$(perl -e 'print "b" x 65')" 'a operator=1' 'a operator x'; do
		echo "$bad" >bad
		fails 3 'bad: line 1: a key must have no space, and only weight=N' infer-serve -m "$M" --api-key-file bad
	done
}

@test "files and batches belong to a group; a model's key file lists keys, not groups" {
	printf 'one group=g\ntwo group=g\nthree group=h\n' >keys
	serve -m "$M" --files-dir kept --api-key-file keys
	echo '{"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":"the","max_tokens":1}}' >in
	own upload batch in.jsonl 'X-Api-Key: one' <in >out
	ID=$(json id <out)
	as two ask GET "/v1/files/$ID/content" '' | cmp in
	as two ask POST /v1/batches "{\"input_file_id\":\"$ID\",\"endpoint\":\"/v1/completions\",\"completion_window\":\"24h\"}" >out
	B=$(json id <out)
	same 'null null' "$(json owner <out) $(json key <out)"
	seen() { as "$1" ask GET "/v1/batches/$B" '' >out; status; }
	same '200 200 404' "$(seen one) $(seen two) $(seen three)"
	as three ask GET "/v1/files/$ID" '' >out
	same 404 "$(status)"
	end_server
	printf 'one group=g\n' >few
	printf 'infer-serve: 1\nmodels:\n  m:\n    model: %s\n    api-key-file: few\n' "$M" >serve.yaml
	serve --config serve.yaml --api-key-file keys --files-dir kept
	as one ask POST /v1/completions '{"model":"m","prompt":"the","max_tokens":1}' >out
	same 200 "$(status)"
	# of the same group, and not listed
	as two ask POST /v1/completions '{"model":"m","prompt":"the","max_tokens":1}' >out
	same 403 "$(status)"
}

@test "time to the first token tells nothing of prompts of another group, and everything within one" {
	[ "${LONG:-0}" = 1 ] || skip "needs minutes: LONG=1 runs it"
	printf 'alpha group=a\nally group=a\nbeta\n' >keys
	serve -m demo --api-key-file keys
	perl "$TOP/tests/tools/rank.pl" own 1000 1 alpha beta | tee apart >&3
	perl "$TOP/tests/tools/rank.pl" own 1000 2 alpha ally | tee within >&3
	perl -ane 'exit !(abs($F[0] - 0.5) <= 0.04)' apart
	perl -ane 'exit !($F[0] >= 0.9)' within
}
