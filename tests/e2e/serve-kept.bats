# infer-serve: responses that are kept in a directory, and continued
load lib
load serve

# keep OPTION...: a server that keeps responses in ./kept
keep() { serve -m demo --files-dir kept "$@"; }
# respond MEMBERS [HEADER]...: a response with these members of the body, to out
respond() { own ask POST /v1/responses "{\"model\":\"m\",\"temperature\":0,\"max_output_tokens\":24,$1}" "${@:2}" >out; }
# missing METHOD PATH [HEADER]...: status 404, and a message that names the id
missing() { own ask "$1" "$2" '' "${@:3}" >out && same '404 response_id' "$(status) $(json error.param <out)"; }

@test "a response is kept whole, before its end is delivered; also that of a stream; it can be read, listed and deleted" {
	keep
	respond '"input":"What is a token?"'
	cp out one
	ID=$(json id <one)
	same 'true null' "$(json store <one) $(json previous_response_id <one)"
	echo "$ID" | grep -qxE 'resp_[0-9a-f]{16}'
	same "$(cat one)" "$(own ask GET "/v1/responses/$ID")"
	own named /v1/responses '{"model":"m","input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"5"},{"role":"user","content":[{"type":"input_text","text":"d"}]}],"max_output_tokens":2,"stream":true}' >events
	tail -n 1 events | json response >last
	sorted() { perl -MJSON::PP -e 'my $j = JSON::PP->new->canonical; print $j->encode($j->decode(join "", <STDIN>))'; }
	same "$(sorted <last)" "$(own ask GET "/v1/responses/$(json id <last)" | sorted)"
	items() { own ask GET "/v1/responses/$(json id <last)/input_items$1"; }
	same 'message function_call_output function_call message message' "$(items '' | json data | perl -MJSON::PP -e 'print join " ", map $_->{type}, @{decode_json(<STDIN>)}')"
	items '?order=asc' >asc
	same 'a output_text b' "$(json data.0.content.0.text <asc) $(json data.1.content.0.type <asc) $(json data.1.content.0.text <asc)"
	for i in 0 1 2 3 4; do
		same completed "$(json data.$i.status <asc)"
		json data.$i.id <asc | grep -qxE '(msg|fc|fco)_[0-9a-f]{16}'
	done
	same "false $(json data.0.id <asc) $(json data.4.id <asc)" "$(json has_more <asc) $(json first_id <asc) $(json last_id <asc)"
	items '?order=asc&limit=2' >two
	same "2 true $(json data.1.id <asc)" "$(json data.# <two) $(json has_more <two) $(json last_id <two)"
	items "?order=asc&limit=2&after=$(json last_id <two)" >two
	same "$(json data.2.id <asc) $(json data.3.id <asc)" "$(json first_id <two) $(json last_id <two)"
	items '?order=up' >out
	same '400 order' "$(status) $(json error.param <out)"
	items '?limit=101' >out
	same '400 limit' "$(status) $(json error.param <out)"
	own ask GET "/v1/responses/$ID?stream=true" >out
	same '400 stream' "$(status) $(json error.param <out)"
	same "{\"id\":\"$ID\",\"object\":\"response\",\"deleted\":true}" "$(own ask DELETE "/v1/responses/$ID")"
	missing GET "/v1/responses/$ID"
	missing DELETE "/v1/responses/$ID"
	own ask POST "/v1/responses/$ID/cancel" '{}' >out
	same 501 "$(status)"
}

@test "previous_response_id: the conversation goes on, after a restart too, and without earlier responses; store false" {
	keep
	respond '"input":"What is a token?"'
	ONE=$(json id <out)
	SAID=$(json output.0.content.0.text <out)
	respond "\"input\":\"What is top-k?\",\"previous_response_id\":\"$ONE\",\"instructions\":\"s\""
	cp out two
	TWO=$(json id <two)
	same "$ONE s" "$(json previous_response_id <two) $(json instructions <two)"
	# the same as all items in one request
	respond "\"instructions\":\"s\",\"store\":false,\"input\":[{\"role\":\"user\",\"content\":\"What is a token?\"},{\"role\":\"assistant\",\"content\":\"$SAID\"},{\"role\":\"user\",\"content\":\"What is top-k?\"}]"
	same "$(json usage.input_tokens <out) $(json output.0.content.0.text <out)" "$(json usage.input_tokens <two) $(json output.0.content.0.text <two)"
	same false "$(json store <out)"
	missing GET "/v1/responses/$(json id <out)"
	same "{\"object\":\"response.input_tokens\",\"input_tokens\":$(json usage.input_tokens <two)}" \
		"$(own ask POST /v1/responses/input_tokens "{\"model\":\"m\",\"input\":\"What is top-k?\",\"previous_response_id\":\"$ONE\",\"instructions\":\"s\"}")"
	own ask DELETE "/v1/responses/$ONE" >out
	end_server
	keep
	same "$(cat two)" "$(own ask GET "/v1/responses/$TWO")"
	respond "\"input\":\"x\",\"previous_response_id\":\"$TWO\""
	[ "$(json usage.input_tokens <out)" -gt "$(json usage.input_tokens <two)" ]
	for id in "$ONE" resp_0000000000000000 resp_ ../lock "resp_..%2f..%2flock" ''; do
		respond "\"input\":\"x\",\"previous_response_id\":\"$id\""
		same '404 previous_response_id' "$(status) $(json error.param <out)"
	done
	for bad in '"previous_response_id":5' '"previous_response_id":"a\u0000b"'; do
		respond "\"input\":\"x\",$bad"
		same '400 previous_response_id' "$(status) $(json error.param <out)"
	done
	respond '"input":"x","store":1'
	same '400 store' "$(status) $(json error.param <out)"
	respond "\"previous_response_id\":\"$TWO\""
	same '400 input' "$(status) $(json error.param <out)"
	for path in resp_ ../lock "%2e%2e/lock" "$TWO%00" "${TWO}0" "$TWO/x" lock; do
		missing GET "/v1/responses/$path"
	done
}

@test "responses belong to a group of keys; a damaged file is an error, one that is cut is not served; the oldest goes for the 1001st" {
	printf 'mine\nyours\nalso group=team\nours group=team\n' >keys
	keep --api-key-file keys
	respond '"input":"x"' 'X-Api-Key: mine'
	MINE=$(json id <out)
	respond '"input":"x"' 'X-Api-Key: also'
	TEAM=$(json id <out)
	missing GET "/v1/responses/$MINE" 'X-Api-Key: yours'
	missing GET "/v1/responses/$MINE/input_items" 'X-Api-Key: also'
	missing DELETE "/v1/responses/$MINE" 'X-Api-Key: yours'
	respond "\"input\":\"x\",\"previous_response_id\":\"$MINE\"" 'X-Api-Key: yours'
	same 404 "$(status)"
	own ask GET "/v1/responses/$TEAM" '' 'X-Api-Key: ours' >out
	same 200 "$(status)"
	FILE=$(ls -d kept/"$MINE"*)
	same 600 "$(stat -c %a "$FILE")"
	# the file of one group under the name for another is not found
	cp "$FILE" "kept/$MINE$(ls kept | sed -n "s/^$TEAM//p")"
	missing GET "/v1/responses/$MINE" 'X-Api-Key: also'
	head -c 40 "$FILE" >cut && cat cut >"$FILE"
	own ask GET "/v1/responses/$MINE" '' 'X-Api-Key: mine' >out
	same 500 "$(status)"
	end_server
	rm -r kept
	keep
	respond '"input":"x"'
	OLD=$(json id <out)
	REST=$(ls kept | sed -n "s/^$OLD//p")
	perl -e 'for (1 .. 999) { open my $f, ">", sprintf("kept/resp_%016x%s", $_, $ARGV[1]) or die; print $f $ARGV[0] }' "$(cat kept/"$OLD$REST")" "$REST"
	touch -d '2001-01-01' kept/"$OLD$REST"
	end_server
	keep
	respond '"input":"x"'
	missing GET "/v1/responses/$OLD"
	same 1000 "$(ls kept | grep -c '^resp_')"
	own ask GET /v1/responses/resp_0000000000000001 >out
	same 200 "$(status)"
}

@test "without --files-dir nothing is kept: store is false, and an earlier response is refused by name; in a batch too" {
	serve -m demo
	respond '"input":"x","store":true'
	same 'false 200' "$(json store <out) $(status)"
	missing GET "/v1/responses/$(json id <out)"
	missing DELETE "/v1/responses/$(json id <out)"
	respond '"input":"x","previous_response_id":"resp_0000000000000000"'
	same '400 previous_response_id' "$(status) $(json error.param <out)"
	grep -q 'without --files-dir' out
	respond '"input":"x","conversation":"conv_1"'
	same '400 conversation' "$(status) $(json error.param <out)"
	echo '{"custom_id":"a","method":"POST","url":"/v1/responses","body":{"input":"x","previous_response_id":"resp_0000000000000000"}}' >line
	infer-run -m demo --batch line >out 2>err || same 7 $?
	json response.body.error.param <out | grep -qx previous_response_id
}
