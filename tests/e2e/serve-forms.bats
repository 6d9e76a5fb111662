# infer-serve: the forms of requests other than completions, and a model that calls tools
load lib
load serve

setup_more()
{
	export TALK='"messages":[{"role":"user","content":"What is a token?"}],"temperature":0'
	hermes_server
}
teardown_file()
{
	kill -TERM "$(cat "$BATS_FILE_TMPDIR/pid")"
	[ ! -f "$BATS_FILE_TMPDIR/ranking" ] || kill -TERM "$(cat "$BATS_FILE_TMPDIR/ranking")"
}

post() { perl "$H" "$SOCK" ask POST "$@"; }
named() { perl "$H" "$SOCK" named "$@"; }
# with BODY: each line of standard input, a field and a value, becomes the field, a space, and the body with that field
with()
{
	perl -MJSON::PP -e '
		my $base = shift;
		while (my $line = <STDIN>) {
			my ($k, $v) = $line =~ /^(\S+) (.*)$/;
			my $b = decode_json($base);
			$b->{$k} = JSON::PP->new->allow_nonref->decode($v);
			print "$k ", encode_json($b), "\n";
		}' "$1"
}

PARAMETERS='{"type":"object","properties":{"city":{"enum":["Rome","Oslo"]}},"required":["city"],"additionalProperties":false}'

@test "messages: whole and streamed are the same, and what chat completions say; the bytes of the events" {
	post /v1/messages "{\"model\":\"m\",\"max_tokens\":8,$TALK}" >whole
	post /v1/chat/completions "{\"max_tokens\":8,$TALK}" >chat
	same "$(json choices.0.message.content <chat)" "$(json content.0.text <whole)"
	same 'message assistant max_tokens null 8' "$(json type <whole) $(json role <whole) $(json stop_reason <whole) $(json stop_sequence <whole) $(json usage.output_tokens <whole)"
	same "$(json usage.prompt_tokens <chat)" "$(json usage.input_tokens <whole)"
	same "{\"input_tokens\":$(json usage.input_tokens <whole)}" "$(post /v1/messages/count_tokens "{\"model\":\"m\",$TALK}")"
	named /v1/messages "{\"model\":\"m\",\"max_tokens\":2,$TALK,\"stream\":true}" | sed 's/msg_[0-9a-f]*/msg_1/' >events
	cat >wanted <<'E'
{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"inferutils-demo","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":13,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A"}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" token"}}
{"type":"content_block_stop","index":0}
{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":2}}
{"type":"message_stop"}
E
	diff wanted events
	post /v1/messages "{\"model\":\"m\",\"max_tokens\":20,$TALK,\"stop_sequences\":[\"zz\",\" is\"]}" >out
	same 'stop_sequence | is|A token' "$(json stop_reason <out) |$(json stop_sequence <out)|$(json content.0.text <out)"
}

@test "messages: tools, results, a system, an answer that is begun; each field of a wrong type" {
	tools="\"tools\":[{\"name\":\"weather\",\"description\":\"d\",\"input_schema\":$PARAMETERS}]"
	post /v1/messages "{\"model\":\"m\",\"max_tokens\":60,$TALK,$tools,\"tool_choice\":{\"type\":\"tool\",\"name\":\"weather\"}}" >out
	same 'tool_use tool_use weather' "$(json stop_reason <out) $(json content.0.type <out) $(json content.0.name <out)"
	json content.0.input.city <out | grep -qxE 'Rome|Oslo'
	json content.0.id <out | grep -q '^toolu_'
	named /v1/messages "{\"model\":\"m\",\"max_tokens\":60,$TALK,$tools,\"tool_choice\":{\"type\":\"any\",\"disable_parallel_tool_use\":true},\"stream\":true}" >events
	same 1 "$(grep -c '"type":"content_block_start"' events)"
	grep '"type":"input_json_delta"' events | json delta.partial_json | json city | grep -qxE 'Rome|Oslo'
	same weather "$(grep '"type":"content_block_start"' events | json content_block.name)"
	past='{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"tool_use","id":"t1","name":"weather","input":{"city":"Rome"}}]}'
	# turns of one role are one; a result comes before the words beside it
	same "$(post /v1/messages/count_tokens "{\"model\":\"m\",$TALK}" | json input_tokens)" "$(post /tokenize "{$TALK}" | json count)"
	post /v1/messages/count_tokens "{\"model\":\"m\",\"system\":\"s\",\"messages\":[$past,{\"role\":\"user\",\"content\":\"so\"},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":[{\"type\":\"text\",\"text\":\"5\"}]}]}]}" >out
	post /apply-template '{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b","tool_calls":[{"id":"t1","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]},{"role":"tool","tool_call_id":"t1","content":"5"},{"role":"user","content":"so"}]}' >rendered
	perl -MJSON::PP -0ne 'print encode_json({ content => decode_json($_)->{prompt}, parse_special => JSON::PP::true })' rendered >text
	same "$(post /tokenize "$(cat text)" | json tokens.#)" "$(json input_tokens <out)"
	post /v1/messages "{\"model\":\"m\",\"max_tokens\":4,\"temperature\":0,\"messages\":[{\"role\":\"user\",\"content\":\"What is a token?\"},{\"role\":\"assistant\",\"content\":\"A token\"}]}" | json content.0.text | grep -q '^ is'
	printf '%s\n' 'messages 5' 'messages []' 'messages [5]' 'system 5' 'max_tokens "a"' 'max_tokens 0' 'temperature "a"' 'temperature 2' 'top_p "a"' 'top_k "a"' 'stop_sequences "a"' \
		'stop_sequences [5]' 'stream 5' 'metadata 5' 'thinking 5' 'output_config 5' 'tools 5' 'tools [{}]' 'tool_choice 5' 'tool_choice {"type":"any"}' 'model 5' 'service_tier 5' 'n 2' |
		with "{\"model\":\"m\",\"max_tokens\":4,$TALK}" | cut -d' ' -f2- | perl "$H" "$SOCK" many 1 /v1/messages >out
	same '23 invalid_request_error' "$(wc -l <out) $(json error.type <out | sort -u)"
}

@test "responses: whole and streamed are the same; the order and the numbers of the events" {
	ask='"input":"What is a token?","temperature":0'
	post /v1/responses "{\"model\":\"m\",$ask,\"max_output_tokens\":8}" >whole
	same "$(post /v1/chat/completions "{\"max_tokens\":8,$TALK}" | json choices.0.message.content)" "$(json output.0.content.0.text <whole)"
	same 'response incomplete max_output_tokens 8' "$(json object <whole) $(json status <whole) $(json incomplete_details.reason <whole) $(json usage.output_tokens <whole)"
	named /v1/responses "{\"model\":\"m\",$ask,\"max_output_tokens\":8,\"stream\":true}" >events
	same "$(seq -s ' ' 0 $(($(wc -l <events) - 1)))" "$(json sequence_number <events | xargs)"
	same 'response.created response.in_progress response.output_item.added response.content_part.added response.output_text.delta response.output_text.done response.content_part.done response.output_item.done response.incomplete' \
		"$(json type <events | uniq | xargs)"
	same "$(json output.0.content.0.text <whole)" "$(grep output_text.delta events | json delta | tr -d '\n')"
	plain() { sed 's/_[0-9a-f]\{16\}/_1/g;s/_at":[0-9]*/_at":0/g' | perl -MJSON::PP -ne 'my $r = decode_json($_); delete $r->{usage}{input_tokens_details}; print JSON::PP->new->canonical->encode($r)'; }
	same "$(plain <whole)" "$(tail -n 1 events | json response | plain)"
	same 1 "$(grep -o '"\(item_\)\?id":"msg_[0-9a-f]*"' events | sed 's/item_//' | sort -u | wc -l)"
	perl "$H" "$SOCK" ask GET /v1/responses/resp_1 >out
	same 404 "$(status)"
}

@test "responses: tools, items, formats; each field of a wrong type" {
	# white space between the values may be a line end, and `json` reads lines
	tools="\"tools\":[{\"type\":\"function\",\"name\":\"weather\",\"parameters\":$PARAMETERS},{\"type\":\"web_search\"}]"
	named /v1/responses "{\"model\":\"m\",\"input\":\"Rome?\",$tools,\"tool_choice\":{\"type\":\"function\",\"name\":\"weather\"},\"stream\":true}" >events
	same 'response.created response.in_progress response.output_item.added response.function_call_arguments.delta response.function_call_arguments.done response.output_item.done response.completed' \
		"$(json type <events | uniq | xargs)"
	tail -n 1 events | json response.output.0.arguments | tr '\n' ' ' | json city | grep -qxE 'Rome|Oslo'
	same "$(grep output_item.added events | json item.call_id)" "$(tail -n 1 events | json response.output.0.call_id)"
	post /v1/responses "{\"model\":\"m\",\"input\":\"a\",\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"a\",\"schema\":$PARAMETERS,\"strict\":true}}}" | json output.0.content.0.text | tr '\n' ' ' | json city | grep -qxE 'Rome|Oslo'
	post /v1/responses '{"model":"m","instructions":"s","input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"reasoning","summary":[]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"5"}],"max_output_tokens":1}' >out
	same 200 "$(status)"
	# a conversation that the context cannot hold loses its oldest turns, but not the instructions, where the request says so
	turns() { perl -e 'my ($from, $to) = @ARGV; print join ",", map { "{\"role\":\"user\",\"content\":\"turn $_ " . ("word " x 40) . "\"},{\"role\":\"assistant\",\"content\":\"yes\"}" } $from .. $to' "$1" "$2"; }
	counted() { post /v1/responses/input_tokens "{\"instructions\":\"Be brief.\",\"input\":[$1]}"; }
	counted "$(turns 1 2),$(turns 3 3)" >out
	same response.input_tokens "$(json object <out)"
	n=$(($(counted "$(turns 1 2)" | json input_tokens) - $(counted "$(turns 1 1)" | json input_tokens)))
	ctx=$(perl "$H" "$SOCK" ask GET /v1/models | json data.0.max_model_len)
	last=$((ctx / n + 3))
	long="\"instructions\":\"Be brief.\",\"input\":[$(turns 10 $((last + 10))),{\"role\":\"user\",\"content\":\"?\"}],\"max_output_tokens\":8"
	post /v1/responses "{$long}" >out
	same '400 context_length_exceeded' "$(status) $(json error.code <out)"
	post /v1/responses "{$long,\"truncation\":\"auto\"}" >out
	same '200 auto' "$(status) $(json truncation <out)"
	used=$(json usage.input_tokens <out)
	[ $((used + 8)) -le "$ctx" ] && [ $((used + n + 8)) -gt "$ctx" ]
	same "$used" "$(counted "$(turns $((last + 10 - (used - $(counted '{"role":"user","content":"?"}' | json input_tokens)) / n + 1)) $((last + 10))),{\"role\":\"user\",\"content\":\"?\"}" | json input_tokens)"
	printf '%s\n' 'input 5' 'input []' 'input [5]' 'input [{"type":"odd"}]' 'input [{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]' 'instructions 5' 'max_output_tokens 0' 'max_output_tokens "a"' \
		'temperature "a"' 'top_p 2' 'tools 5' 'tools [5]' 'tool_choice 5' 'tool_choice "required"' 'parallel_tool_calls 5' 'text 5' 'reasoning 5' 'truncation 5' 'previous_response_id "a"' 'conversation "a"' \
		'background true' 'include 5' 'model 5' 'metadata 5' 'store 5' 'stream 5' 'user 5' 'n 2' | with '{"input":"a"}' | refused /v1/responses
}

@test "tools in chat completions: required, named, allowed, one call or more; what they must be" {
	f() { echo "{\"type\":\"function\",\"function\":{\"name\":\"$1\",\"parameters\":$PARAMETERS}}"; }
	tools="\"tools\":[$(f weather),$(f time)]"
	post /v1/chat/completions "{$TALK,$tools,\"tool_choice\":\"required\",\"max_tokens\":200,\"parallel_tool_calls\":false}" >out
	same 'tool_calls null 1' "$(json choices.0.finish_reason <out) $(json choices.0.message.content <out) $(json choices.0.message.tool_calls.# <out)"
	for choice in '{"type":"function","function":{"name":"time"}}' '{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"time"}}]}}'; do
		post /v1/chat/completions "{$TALK,$tools,\"tool_choice\":$choice,\"max_tokens\":200}" >out
		same time "$(json choices.0.message.tool_calls.0.function.name <out)"
		json choices.0.message.tool_calls.0.function.arguments <out | json city | grep -qxE 'Rome|Oslo'
	done
	# one call is enough where one is required; more come where the request says so
	post /v1/chat/completions "{$TALK,$tools,\"tool_choice\":\"required\",\"ignore_eos\":true}" >out
	same 1 "$(json choices.0.message.tool_calls.# <out)"
	post /v1/chat/completions "{$TALK,$tools,\"tool_choice\":\"required\",\"ignore_eos\":true,\"max_tokens\":150,\"parallel_tool_calls\":true}" >out
	[ "$(json choices.0.message.tool_calls.# <out)" -gt 1 ]
	printf '%s\n' "tools {$TALK,\"tools\":[$(f a),$(f a)]}" "tools {$TALK,\"tools\":[$(f 'a b')]}" "tools {$TALK,\"tools\":[{\"type\":\"odd\",\"function\":{\"name\":\"a\"}}]}" \
		"tools {$TALK,\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"a\",\"parameters\":5}}]}" "tool_choice {$TALK,$tools,\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"other\"}}}" \
		"tool_choice {$TALK,\"tool_choice\":\"required\"}" "tool_choice {$TALK,$tools,\"tool_choice\":\"odd\"}" "tool_choice {$TALK,$tools,\"tool_choice\":{\"type\":\"allowed_tools\",\"allowed_tools\":{\"mode\":\"auto\",\"tools\":[{\"name\":\"other\"}]}}}" \
		"parallel_tool_calls {$TALK,$tools,\"parallel_tool_calls\":1}" | refused /v1/chat/completions
}

@test "/completion: what infer-run says; events of a stream; lists, stops, chosen fields; each field of a wrong type" {
	post /completion '{"prompt":"Once upon","n_predict":6,"temperature":-1,"return_tokens":true,"n_probs":2}' >whole
	same "$(infer-run -q -m demo --no-stdin --temp 0 -n 6 --raw 'Once upon')" "$(json content <whole)"
	same 'limit  6 2 6 2 true' "$(json stop_type <whole) $(json stopping_word <whole) $(json tokens_predicted <whole) $(json tokens_evaluated <whole) $(json tokens.# <whole) $(json completion_probabilities.0.top_logprobs.# <whole) $(json stop <whole)"
	same "$(json content <whole)" "$(post /detokenize "{\"tokens\":$(json tokens <whole)}" | json content)"
	same "$(json tokens <whole)" "$(json completion_probabilities <whole | perl -MJSON::PP -ne 'print encode_json([map { $_->{id} } @{decode_json($_)}])')"
	perl "$H" "$SOCK" events /completion '{"prompt":"Once upon","n_predict":6,"temperature":0,"stream":true}' >events
	same "$(json content <whole)" "$(json content <events | tr -d '\n')"
	same "$(json tokens <whole | tr -d '[]')" "$(json tokens <events | tr -d '[]' | grep . | xargs | tr ' ' ,)"
	same 'false false false false false false true' "$(json stop <events | xargs)"
	head -n 1 events | grep -qx '{"index":0,"content":" a","tokens":\[[0-9]*\],"stop":false,"id_slot":0,"tokens_predicted":1,"tokens_evaluated":2}'
	tail -n 1 events | grep -q '^{"index":0,"content":"","tokens":\[\],"stop":true,"stop_type":"limit","stopping_word":"",'
	post /completion '{"prompt":["Once upon","Hi"],"n_predict":2,"temperature":0,"response_fields":["content","generation_settings/n_predict"]}' >out
	same '2 {"content":" a time","generation_settings/n_predict":2}' "$(json '#' <out) $(json 0 <out | perl -MJSON::PP -ne 'print JSON::PP->new->canonical->encode(decode_json($_))')"
	post /completion '{"prompt":"Once upon","n_predict":20,"temperature":0,"stop":["zz"," time"]}' >out
	same ' a word | time' "$(json content <out) $(json stop_type <out) |$(json stopping_word <out)"
	printf '%s\n' 'prompt 5' 'prompt []' 'prompt [-1]' 'prompt [1,99999999]' 'stop_token_ids [99999999]' 'prompt ["a",[]]' 'n_predict "a"' 'n_predict -2' 'n_probs -1' 'return_tokens 5' 'cache_prompt 5' 'response_fields 5' 'id_slot "a"' 'n_keep "a"' 'lora 5' \
		'temperature "a"' 'top_k "a"' 'repeat_last_n -2' 'dry_sequence_breakers 5' 'samplers 5' 'seed "a"' 'stop 5' 'logit_bias [[5]]' 'logit_bias [["a","b"]]' 'stream 5' 'timings_per_token 5' 'ignore_eos 5' \
		'grammar 5' 'json_schema 5' 'post_sampling_probs 5' 't_max_predict_ms 5' 'min_keep "a"' 'mirostat 3' | with '{"prompt":"a"}' | refused /completion
	# tokens that end a turn never come where they are ignored; those of a text do not where their bias says so
	post /completion '{"prompt":{"prompt_string":"Once upon"},"n_predict":1,"temperature":0,"ignore_eos":true,"logit_bias":{" a":false}}' >out
	[ "$(json content <out)" != ' a' ]
	grep -q '"logit_bias":\[{"bias":null,"token":[0-9]*},{"bias":null,"token":' out
	post /completion '{"prompt":"Once upon","n_predict":1,"temperature":0}' >out
	same '[]' "$(json generation_settings.logit_bias <out)"
	# what the sampler chose from: two candidates, whose chances make 1
	post /completion '{"prompt":"Once upon","n_predict":1,"top_k":2,"samplers":["top_k"],"n_probs":5,"post_sampling_probs":true,"seed":3}' >out
	same '2 1.000' "$(json completion_probabilities.0.top_probs.# <out) $(json completion_probabilities.0.top_probs <out | perl -MJSON::PP -ne 'my $s = 0; $s += $_->{prob} for @{decode_json($_)}; printf "%.3f", $s')"
	json completion_probabilities.0.top_probs <out | grep -q "\"prob\":$(json completion_probabilities.0.prob <out)"
	# an answer that would end sooner, by its turn, by an id and by a text, has as many tokens as are asked for
	short='"messages":[{"role":"user","content":"What is a token?"}],"temperature":0'
	post /v1/chat/completions "{$short}" >out
	n=$(json usage.completion_tokens <out)
	same stop "$(json choices.0.finish_reason <out)"
	post /v1/chat/completions "{$short,\"min_tokens\":$((n + 20)),\"max_tokens\":$((n + 90))}" >out
	[ "$(json usage.completion_tokens <out)" -ge $((n + 20)) ]
	# timings are in each event but the first, and in that of the usage
	perl "$H" "$SOCK" stream /v1/chat/completions "{$short,\"max_tokens\":2,\"stream\":true,\"timings_per_token\":true,\"stream_options\":{\"include_usage\":true}}" >events
	same '0 1 1' "$(sed -n 1p events | grep -c timings) $(sed -n 2p events | grep -c timings) $(grep "\"choices\":\[\]" events | grep -c timings)"
	post /completion '{"prompt":"Once upon","n_predict":30,"temperature":0,"return_tokens":true}' >out
	id=$(json tokens.2 <out)
	same 3 "$(post /completion "{\"prompt\":\"Once upon\",\"n_predict\":30,\"temperature\":0,\"stop_token_ids\":[$id]}" | json tokens_predicted)"
	[ "$(post /completion "{\"prompt\":\"Once upon\",\"n_predict\":30,\"temperature\":0,\"stop_token_ids\":[$id],\"min_tokens\":9}" | json tokens_predicted)" -ge 9 ]
	same 2 "$(post /completion '{"prompt":"Once upon","n_predict":30,"temperature":0,"stop":" time"}' | json tokens_predicted)"
	post /completion '{"prompt":"Once upon","n_predict":30,"temperature":0,"stop":" time","min_tokens":4}' >out
	[ "$(json tokens_predicted <out)" -ge 4 ] && json content <out | grep -q '^ a time'
	# a request without a seed has that of the server
	post /completion '{"prompt":"Once upon","n_predict":8,"temperature":1.5}' >out
	same 11 "$(json generation_settings.seed <out)"
	same "$(json content <out)" "$(post /completion '{"prompt":"Once upon","n_predict":8,"temperature":1.5,"seed":11}' | json content)"
	# a schema that takes two tries to compile is answered: the error of the first one is no fault
	post /completion '{"prompt":"Once upon","n_predict":3,"json_schema":{"items":[{"type":"integer"}]}}' >out
	same '200 3' "$(status) $(json tokens_predicted <out)"
	# a prompt that is not to be cached is read anew
	post /completion '{"prompt":"A long prompt that is here to fill more than a page of the cache, again and again and again, until it does, and then some more of it","n_predict":1}' >out
	same 0 "$(post /completion '{"prompt":"A long prompt that is here to fill more than a page of the cache, again and again and again, until it does, and then some more of it","n_predict":1,"cache_prompt":false}' | json timings.cache_n)"
}

@test "/infill and suffix: with tokens for a gap, and without" {
	post /infill '{"input_prefix":"a","input_suffix":"b"}' >out
	same '501 not_supported_error' "$(status) $(json error.type <out)"
	printf '%s\n' 'input_prefix 5' 'input_suffix 5' 'input_extra 5' 'input_extra [{}]' 'prompt 5' | with '{"input_prefix":"a","input_suffix":"b"}' | refused /infill
	echo 'suffix {"prompt":"a","suffix":"b"}' | refused /v1/completions
	mkmodel --fim fim.gguf
	infer-serve -m fim.gguf -t 1 --listen unix:gap >up 2>said 3>&- &
	pid=$!
	for _ in $(seq 1200); do [ ! -s up ] || break; sleep 0.1; done
	perl "$H" gap ask POST /detokenize '{"tokens":[600]}' >pre
	perl "$H" gap ask POST /detokenize '{"tokens":[601]}' >suf
	perl "$H" gap ask POST /detokenize '{"tokens":[602]}' >mid
	perl "$H" gap ask POST /infill '{"input_prefix":"the of","input_suffix":"and","prompt":"so","input_extra":[{"text":"first"}],"n_predict":1}' >out
	perl "$H" gap ask POST /v1/completions '{"prompt":"the of","suffix":"and","max_tokens":1}' >text
	kill -TERM $pid
	wait $pid
	same "first
$(json content <pre)the of$(json content <suf)and$(json content <mid)so" "$(json prompt <out)"
	json usage.prompt_tokens <text | grep -q '[0-9]'
}

@test "a model that ranks texts: scores, the best first; what it does not do is refused by name" {
	infer-serve -m "$BATS_TEST_DIRNAME/../golden/encoders/xlm-rank.gguf" -t 1 --listen "unix:$SOCK.rank" >ranking 2>said 3>&- 9>&- &
	echo $! >"$BATS_FILE_TMPDIR/ranking"
	up ranking
	rank() { perl "$H" "$SOCK.rank" ask POST "$@"; }
	rounded() { awk '{ printf "%.5f\n", $1 }'; }
	rank /v1/rerank '{"query":"ABC","documents":["DDD",{"text":"AFAF"},"BCDE"],"return_documents":true}' >out
	for text in DDD AFAF BCDE; do infer-run -m "$BATS_TEST_DIRNAME/../golden/encoders/xlm-rank.gguf" --no-stdin --embed=rank "ABC$text"; done | rounded >scores
	same "$(sort -gr scores | head -n 1)" "$(json results.0.relevance_score <out | rounded)"
	same "$(sort -gr scores | tail -n 1)" "$(json results.2.relevance_score <out | rounded)"
	same "$(sed -n "$(($(json results.0.index <out) + 1))p" scores)" "$(json results.0.relevance_score <out | rounded)"
	rank /v1/score '{"text_1":"ABC","text_2":["DDD","AFAF","BCDE"]}' >out
	same "$(cat scores)" "$(for i in 0 1 2; do json data.$i.score <out; done | rounded)"
	rank /rerank '{"query":"ABC","texts":["DDD"],"raw_scores":true}' | json 0.score | rounded >raw
	same "$(infer-run -m "$BATS_TEST_DIRNAME/../golden/encoders/xlm-rank.gguf" --no-stdin --embed=rank --no-normalize ABCDDD | rounded)" "$(cat raw)"
	# the forms of Jina, Cohere and Text Embeddings Inference, and of scores, to the byte but for numbers and names
	shape() { sed -E 's/[0-9]\.[0-9]+/X/g; s/"(rerank|score)-[0-9a-f]{16}"/ID/; s/"created":[0-9]+/T/' out; }
	tail='"usage":{"prompt_tokens":6,"total_tokens":6}}'
	for path in /v1/rerank /v2/rerank /rerank /reranking; do
		rank $path '{"model":"x","query":"A","documents":[{"text":"DDD","title":"t"},"A"],"top_n":1,"return_documents":true,"max_tokens_per_doc":5}' >out
		same '{"id":ID,"object":"list","model":"Xlm-Rank","results":[{"index":I,"relevance_score":X,"document":{"text":"D"}}],'"$tail" \
			"$(shape | sed -E 's/"index":[01]/"index":I/; s/"text":"(DDD|A)"/"text":"D"/')"
	done
	rank /rerank '{"query":"A","texts":["DDD"],"return_text":true}' >out
	same '[{"index":0,"score":X,"text":"DDD"}]' "$(shape)"
	# a document that is too long loses its end
	rank /rerank '{"query":"ABC","texts":["DDD"],"raw_scores":true}' >out
	rank /rerank '{"query":"ABC","texts":["DDDAFA"],"truncate_prompt_tokens":6,"use_activation":false,"return_text":true}' >cut
	same 6 "$(rank /v1/rerank '{"query":"ABC","documents":["DDDAFA"],"truncate_prompt_tokens":6}' | json usage.prompt_tokens)"
	same "$(json 0.score <out) DDDAFA" "$(json 0.score <cut) $(json 0.text <cut)"
	long=$(printf 'AB%.0s' $(seq 400))
	same 'context_length_exceeded 400' "$(rank /rerank "{\"query\":\"A\",\"texts\":[\"$long\"]}" | json error.code) $(status)"
	rank /rerank "{\"query\":\"A\",\"texts\":[\"$long\"],\"truncate\":true}" >out
	same 200 "$(status)"
	for names in text_1,text_2 queries,documents queries,items data_1,data_2; do
		rank /v1/score "{\"${names%,*}\":[\"A\",\"B\"],\"${names#*,}\":[\"D\",\"D\"]}" >out
		same '{"id":ID,"object":"list",T,"model":"Xlm-Rank","data":[{"index":0,"object":"score","score":X},{"index":1,"object":"score","score":X}],"usage":{"prompt_tokens":4,"total_tokens":4}}' "$(shape)"
	done
	cat >bad <<-'END'
		query {"query":5,"documents":["x"]}
		query {"query":null,"documents":["x"]}
		documents {"query":"A","documents":[]}
		documents {"query":"A","documents":null}
		documents {"query":"A","documents":123}
		documents {"query":"A","documents":[1,2]}
		documents {"query":"A","documents":[{"title":"A"}]}
		query {"documents":["A"]}
		top_n {"query":"A","documents":["A"],"top_n":0}
		top_n {"query":"A","documents":["A"],"top_n":"1"}
		return_documents {"query":"A","documents":["A"],"return_documents":1}
		truncate {"query":"A","texts":["A"],"truncate":1}
		truncate_prompt_tokens {"query":"A","documents":["A"],"truncate_prompt_tokens":100000}
		use_activation {"query":"A","documents":["A"],"use_activation":5}
		raw_scores {"query":"A","texts":["A"],"raw_scores":"no"}
		model {"query":"A","documents":["A"],"model":5}
	END
	SOCK=$SOCK.rank refused /v1/rerank <bad
	cat >bad <<-'END'
		text_1 {"text_2":"A"}
		text_2 {"text_1":"A"}
		text_2 {"text_1":"A","text_2":[]}
		text_1 {"text_1":5,"text_2":"A"}
		text_2 {"text_1":["A","B"],"text_2":["A","B","C"]}
	END
	SOCK=$SOCK.rank refused /v1/score <bad
	for path in /v1/rerank /v1/score; do
		post $path '{"query":"A","documents":["A"],"text_1":"A","text_2":"A"}' >out
		same '501 not_supported_error model' "$(status) $(json error.type <out) $(json error.param <out)"
	done
	rank /v1/completions '{"prompt":"A"}' | json error.message | grep -q 'ranks texts, and generates nothing'
	same 400 "$(status)"
}

@test "an encoder: a text of more tokens than it has positions is refused, or loses its end; what it is not asked for" {
	model=$BATS_TEST_DIRNAME/../golden/encoders/bert.gguf
	infer-serve -m "$model" -t 1 --listen unix:enc >up 2>said 3>&- &
	pid=$!
	for _ in $(seq 1200); do [ ! -s up ] || break; sleep 0.1; done
	long=$(printf 'AB%.0s' $(seq 40))
	ask() { perl "$H" enc ask POST /v1/embeddings "$1"; }
	ask "{\"input\":\"$long\"}" >refused
	ask "{\"input\":[\"A\",\"$long\"],\"truncate\":true,\"dimensions\":3}" >cut
	ask "{\"input\":\"${long:0:64}\",\"dimensions\":3}" >short
	ask "{\"input\":[\"A\",\"$long\"],\"truncate_prompt_tokens\":64,\"dimensions\":3,\"use_activation\":true}" >most
	ask "{\"input\":\"${long}ABC\",\"truncate_prompt_tokens\":6,\"truncation_side\":\"left\",\"normalize\":false}" >left
	ask '{"input":"BABABC","embd_normalize":-1}' >end
	ask '{"input":"AB","truncate_prompt_tokens":65}' >over
	ask '{"input":"AB","truncate":"yes"}' >wrong
	kill -TERM $pid
	wait $pid
	same 'input 0 is too large: it has 80 tokens, and the context 64' "$(json error.message <refused)"
	same "$(json data.0.embedding <short)" "$(json data.1.embedding <cut)"
	same 65 "$(json usage.prompt_tokens <cut)"
	same "$(json data.1.embedding <cut)" "$(json data.1.embedding <most)"
	same "$(json data.0.embedding <end)" "$(json data.0.embedding <left)"
	same truncate_prompt_tokens "$(json error.param <over)"
	same truncate "$(json error.param <wrong)"
	fails 3 'is an encoder: infer-bench run needs a model that generates text' infer-bench run -m "$model"
	fails 3 'is an encoder: a plan needs a model that generates text' infer-inspect plan -m "$model"
}

@test "calls in a form that is not known: said when the model is loaded; a call cannot be required" {
	printf '%s' '{{ tools }}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}' \
		'(({{ c.function.name }} {{ c.function.arguments }})){% endfor %}{% endfor %}' >strange
	serve -m demo --template strange
	same 1 "$(grep -c 'calls in a form that is not known: calls in answers stay text' said)"
	tools='"tools":[{"type":"function","function":{"name":"a"}}]'
	SOCK=own refused /v1/chat/completions <<-E
	tool_choice {$TALK,$tools,"tool_choice":"required"}
	tool_choice {$TALK,$tools,"tool_choice":{"type":"function","function":{"name":"a"}}}
	E
	grep -q 'is not known, so a call cannot be required' out
	own ask POST /v1/chat/completions "{$TALK,$tools,\"max_tokens\":3}" >out
	same assistant "$(json choices.0.message.role <out)"
}
