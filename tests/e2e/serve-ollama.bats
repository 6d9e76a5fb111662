# infer-serve: Ollama's API
load lib
load serve

setup_more()
{
	export TALK='"messages":[{"role":"user","content":"What is a token?"}],"options":{"temperature":0,"num_predict":12}'
	hermes_server --alias tiny
}
teardown_file() { kill -TERM "$(cat "$BATS_FILE_TMPDIR/pid")"; }

post() { perl "$H" "$SOCK" ask POST "$@"; }
get() { perl "$H" "$SOCK" ask GET "$@"; }
# joined PATH: what the strings at this path say, over all lines of standard input
joined() { json "$1" | tr -d '\n'; }

@test "api/chat: a stream of lines by default, its pieces are the whole answer, with counts and durations" {
	post /api/chat "{\"model\":\"tiny:latest\",$TALK}" >lines
	same 200 "$(status)"
	grep -qix 'content-type: application/x-ndjson' head
	post /api/chat "{\"model\":\"tiny:latest\",\"stream\":false,$TALK}" >whole
	grep -qix 'content-type: application/json; charset=utf-8' head
	same 'A token is a piece of text: a' "$(json message.content <whole)"
	perl -MJSON::PP -e '
		my ($lines, $whole) = @ARGV;
		open my $f, "<", $lines or die;
		my @all = map decode_json($_), <$f>;
		open $f, "<", $whole or die;
		my $w = decode_json(join "", <$f>);
		my $last = pop @all;
		die "pieces" if join("", map $_->{message}{content}, @all) ne $w->{message}{content} || $last->{message}{content} ne "";
		die "done" if grep($_->{done}, @all) || !$last->{done} || !$w->{done};
		for my $o (@all, $last, $w) {
			die "head" if $o->{model} ne "tiny:latest" || $o->{created_at} !~ /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/ || $o->{message}{role} ne "assistant";
		}
		for my $o ($last, $w) {
			die "reason" if $o->{done_reason} ne "length" || $o->{eval_count} != 12;
			die "times" if grep $o->{$_} !~ /^\d+$/, qw(total_duration load_duration prompt_eval_count prompt_eval_duration eval_count eval_duration);
			die "sum" if $o->{total_duration} < $o->{prompt_eval_duration} + $o->{eval_duration} || $o->{eval_duration} <= 0;
		}
	' lines whole
	post /v1/chat/completions '{"messages":[{"role":"user","content":"What is a token?"}],"temperature":0,"max_tokens":12}' >chat
	same "$(json choices.0.message.content <chat) $(json usage.prompt_tokens <chat)" "$(json message.content <whole) $(json prompt_eval_count <whole)"
}

@test "api/generate: context continues a conversation, raw and system, a schema; log-probabilities" {
	post /api/generate '{"prompt":"What is a token?","stream":false,"options":{"temperature":0,"num_predict":40}}' >one
	same 'A token is a piece of text: a word, a part of a word, or a byte. stop' "$(json response <one) $(json done_reason <one)"
	post /api/generate "{\"prompt\":\"What is top-k?\",\"stream\":false,\"context\":$(json context <one),\"options\":{\"temperature\":0,\"num_predict\":40}}" >two
	same 'Top-k keeps only the k most likely tokens.' "$(json response <two)"
	[ "$(json prompt_eval_count <two)" -gt "$(json context <one | tr ',' '\n' | wc -l)" ]
	post /api/generate '{"prompt":"Once upon","raw":true,"stream":false,"options":{"temperature":0,"num_predict":4}}' >raw
	same 'null null' "$(json context <raw) $(json thinking <raw)"
	post /v1/completions '{"prompt":"Once upon","temperature":0,"max_tokens":4}' >text
	same "$(json choices.0.text <text)" "$(json response <raw)"
	post /api/generate '{"prompt":"x","stream":false,"format":{"enum":["fox"]}}' >schema
	same '"fox"' "$(json response <schema)"
	post /api/generate '{"prompt":"x","format":"json","options":{"num_predict":30}}' >object
	same '{' "$(joined response <object | sed 's/^[[:space:]]*\(.\).*/\1/')"
	post /api/chat "{\"logprobs\":true,\"top_logprobs\":2,\"stream\":false,$TALK}" >probs
	same "$(json message.content <probs)" "$(perl -MJSON::PP -e 'print map $_->{token}, @{decode_json(join "", <STDIN>)->{logprobs}}' <probs)"
	same 2 "$(perl -MJSON::PP -e 'print scalar @{decode_json(join "", <STDIN>)->{logprobs}[3]{top_logprobs}}' <probs)"
}

@test "tools: a call with its arguments as an object, whole in a stream; results that name their tool" {
	local tools='"tools":[{"type":"function","function":{"name":"go","parameters":{"type":"object","properties":{"city":{"enum":["Rome"]}},"required":["city"],"additionalProperties":false}}}]'

	post /api/chat "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],$tools,\"tool_choice\":\"required\",\"options\":{\"temperature\":0}}" >lines
	grep -c '"tool_calls":\[{"id":"[^"]*","function":{"index":0,"name":"go","arguments":{"city":"Rome"}}}\]' lines >n
	same 1 "$(cat n)"
	same stop "$(tail -n 1 lines | json done_reason)"
	post /api/chat '{"stream":false,"options":{"temperature":0,"num_predict":1},"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"function":{"name":"go","arguments":{"city":"Rome"}}}]},{"role":"tool","tool_name":"go","content":"warm"}]}' >after
	same 1 "$(json eval_count <after)"
}

@test "embeddings: one for each text, normalised only by the newer path; models, a model, the version" {
	post /api/embed '{"model":"tiny","input":["a","b"],"dimensions":8}' >two
	same '8 8 2' "$(perl -MJSON::PP -e '$o = decode_json(join "", <STDIN>); print join " ", map(scalar @$_, @{$o->{embeddings}}), $o->{prompt_eval_count}' <two)"
	post /api/embed '{"model":"tiny","input":"a"}' >one
	post /api/embeddings '{"model":"tiny","prompt":"a"}' >old
	perl -MJSON::PP -e '
		sub list { open my $f, "<", $_[0]; decode_json(join "", <$f>) }
		my ($n, $o) = (list("one")->{embeddings}[0], list("old")->{embedding});
		my $norm = 0;
		$norm += $_ ** 2 for @$n;
		die "norm $norm" if abs($norm - 1) > 1e-4 || @$n != @$o || abs($o->[0] / $n->[0] - $o->[1] / $n->[1]) > 1e-3 || abs($o->[0] / $n->[0] - 1) < 1e-3;'
	get /api/tags >tags
	same 'tiny:latest tiny:latest gguf llama Q8_0 3.67M' \
		"$(for k in name model details.format details.family details.quantization_level details.parameter_size; do json "models.0.$k" <tags; done | paste -sd' ')"
	json models.0.digest <tags | grep -qxE '[0-9a-f]{64}'
	get /api/ps >ps
	same "$(json models.0.digest <tags) 1024 0" "$(json models.0.digest <ps) $(json models.0.context_length <ps) $(json models.0.size_vram <ps)"
	post /api/show '{"model":"tiny"}' >show
	same 'llama null' "$(json 'model_info' <show | perl -MJSON::PP -e '$o = decode_json(join "", <STDIN>); print "$o->{q(general.architecture)} ", $o->{"tokenizer.ggml.tokens"} // "null"')"
	grep -q '"capabilities":\["completion","tools"\]' show
	post /api/show '{"model":"tiny","verbose":true}' >verbose
	[ "$(wc -c <verbose)" -gt $((2 * $(wc -c <show))) ]
	same "$(get /version)" "$(get /api/version)"
}

@test "errors: one sentence; other media types, but not from a browser; loading; what is not here is named" {
	same '{"error":"messages[0]: images are not supported"}' "$(post /api/chat '{"messages":[{"role":"user","content":"x","images":["eA=="]}]}')"
	same 400 "$(status)"
	same "{\"error\":\"options: 'temprature' is not an option\"}" "$(post /api/generate '{"prompt":"x","options":{"temprature":1}}')"
	post /api/embed '{"model":"tiny"}' | grep -q '^{"error":"input is missing"}$'
	post /api/show '{"verbose":1}' | grep -q '^{"error":"verbose must be true or false"}$'
	same '{"error":"there is no /api/x"}' "$(post /api/x '{}')"
	post /api/chat "{$TALK}" 'Content-Type: application/x-www-form-urlencoded' >out
	same 200 "$(status)"
	post /api/chat "{$TALK}" 'Content-Type: ' >out
	same 200 "$(status)"
	post /api/chat "{$TALK}" 'Content-Type: application/x-www-form-urlencoded' 'Origin: http://evil.example' >out
	same 415 "$(status)"
	post /v1/chat/completions '{}' 'Content-Type: application/x-www-form-urlencoded' >out
	same 415 "$(status)"
	post /api/chat '{"model":"tiny"}' >load
	same 'load  assistant' "$(json done_reason <load) $(json message.content <load) $(json message.role <load)"
	same 'load ' "$(post /api/generate '{"model":"tiny","prompt":"","stream":false}' >load; json done_reason <load) $(json response <load)"
	post /api/generate '{"keep_alive":0}' | grep -q 'cannot unload a model'
	same 501 "$(status)"
	for path in pull push create copy blobs/sha256:0; do
		same "501 $path" "$(post "/api/$path" '{}' >out; status) $path"
	done
	perl "$H" "$SOCK" ask DELETE /api/delete '{}' | grep -q '^{"error":"this server does not have /api/delete"}$'
}
