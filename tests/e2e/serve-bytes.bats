# infer-serve: streams byte for byte, of stories260K, whose first tokens behind a prompt a float64 evaluation says
load lib
load serve

# raw PATH BODY: the bytes that come: the head into `head`, without what is of the day or the request; the body without its chunks,
# each of which is whole events, and with 1 for each number that is made
raw()
{
	printf 'POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' "$1" "${#2}" "$2" |
		perl "$H" own send >all
	perl -0777 -ne '
		my ($head, $body) = split /\r\n\r\n/, $_, 2;
		open my $h, ">", "head";
		print $h map { "$_\n" } grep { !/^(Date|X-Request-Id|request-id):/ } split /\r\n/, $head;
		while ($body =~ s/^([0-9A-F]+)\r\n//i) {
			my $n = hex $1;
			my $c = substr $body, 0, $n;
			$body = substr $body, $n;
			$body =~ s/^\r\n// or die "a chunk has no end\n";
			last if !$n;
			$c =~ /\n\n\z/ && $c !~ /\n\n\n/ or die "a chunk is not whole events\n";
			print $c;
		}
		length $body and die "bytes behind the end\n";' all |
		sed 's/"\(chatcmpl-\|cmpl-\|msg_\|resp_\)[0-9a-f]\{16\}"/"\11"/g; s/"\(created\|created_at\|completed_at\)":[0-9][0-9]*/"\1":1/g; s/"system_fingerprint":"b[^"]*"/"system_fingerprint":"b1"/g'
}
# is EVENTS BODY PATH: the stream is the file; BODY lacks what all have
stream_is()
{
	raw "$2" "{$3,\"temperature\":0,\"stream\":true}" >got
	diff "$1" got
	printf '%s\n' 'HTTP/1.1 200 OK' 'Connection: close' 'Server: infer-serve' 'Content-Type: text/event-stream' 'Cache-Control: no-cache' 'X-Accel-Buffering: no' 'Transfer-Encoding: chunked' | diff - head
}

@test "chat, completions, messages, responses and /completion, to the byte" {
	need_shared models/stories260K.gguf
	# a conversation is its first turn, so that each form has the same prompt
	printf '%s' '{{ bos_token }}{{ messages[0].content }}' >plain.jinja
	serve -m "$SHARED/models/stories260K.gguf" --alias m --template plain.jinja --no-prefix-cache
	Q='"messages":[{"role":"user","content":"Once upon a time"}]'
	C='data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"b1","choices":['
	cat >chat <<-EOF
		$C{"index":0,"delta":{"role":"assistant","content":null},"logprobs":null,"finish_reason":null}],"usage":null}

		$C{"index":0,"delta":{"content":","},"logprobs":null,"finish_reason":null}],"usage":null}

		$C{"index":0,"delta":{"content":" there"},"logprobs":null,"finish_reason":null}],"usage":null}

		$C{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}],"usage":null}

		$C],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":0}}}

		data: [DONE]

	EOF
	stream_is chat /v1/chat/completions "$Q,\"max_tokens\":2,\"stream_options\":{\"include_usage\":true}"
	T='data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":'
	cat >text <<-EOF
		$T",","logprobs":null,"finish_reason":null}]}

		$T" there","logprobs":null,"finish_reason":null}]}

		$T"","logprobs":null,"finish_reason":"length"}]}

		data: [DONE]

	EOF
	stream_is text /v1/completions '"prompt":"Once upon a time","max_tokens":2'
	cat >messages <<-EOF
		event: message_start
		data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}

		event: content_block_start
		data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

		event: content_block_delta
		data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":","}}

		event: content_block_delta
		data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" there"}}

		event: content_block_stop
		data: {"type":"content_block_stop","index":0}

		event: message_delta
		data: {"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":2}}

		event: message_stop
		data: {"type":"message_stop"}

	EOF
	stream_is messages /v1/messages "$Q,\"max_tokens\":2"
	M='"id":"msg_1","type":"message","status":'
	P='"role":"assistant","content":[{"type":"output_text","text":", there","annotations":[]}]}'
	D='data: {"type":"response.output_text'
	cat >responses <<-EOF
		event: response.output_item.added
		data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{$M"in_progress","role":"assistant","content":[]}}

		event: response.content_part.added
		data: {"type":"response.content_part.added","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}

		event: response.output_text.delta
		$D.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":",","logprobs":[]}

		event: response.output_text.delta
		$D.delta","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"delta":" there","logprobs":[]}

		event: response.output_text.done
		$D.done","sequence_number":6,"item_id":"msg_1","output_index":0,"content_index":0,"text":", there","logprobs":[]}

		event: response.content_part.done
		data: {"type":"response.content_part.done","sequence_number":7,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":", there","annotations":[]}}

		event: response.output_item.done
		data: {"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":{$M"incomplete",$P}

	EOF
	raw /v1/responses '{"input":"Once upon a time","temperature":0,"max_output_tokens":2,"stream":true}' >got
	diff responses <(sed '1,6d' got | head -n -3)
	# the first two and the last have the whole object
	same 'event: response.created' "$(head -n 1 got)"
	same 'event: response.in_progress' "$(sed -n 4p got)"
	sed -n 2p got | grep -q '^data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response",.*"status":"in_progress",.*"output":\[\]'
	sed -n 5p got | sed 's/"type":"response.in_progress","sequence_number":1/"type":"response.created","sequence_number":0/' | diff - <(sed -n 2p got)
	same 'event: response.incomplete' "$(tail -n 3 got | head -n 1)"
	tail -n 2 got | grep -qF "\"output\":[{$M\"incomplete\",${P%??\}},\"logprobs\":[]}]}]"
	tail -n 2 got | grep -qF '"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":5},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":7}'
	N='"stop":false,"id_slot":0,"tokens_predicted":'
	cat >native <<-EOF
		data: {"index":0,"content":",","tokens":[432],${N}1,"tokens_evaluated":5}

		data: {"index":0,"content":" there","tokens":[383],${N}2,"tokens_evaluated":5}

	EOF
	raw /completion '{"prompt":"Once upon a time","temperature":0,"n_predict":2,"stream":true}' >got
	diff native <(head -n 4 got)
	same 6 "$(wc -l <got)"
	sed -n 5p got | grep -q '^data: {"index":0,"content":"","tokens":\[\],"stop":true,"stop_type":"limit","stopping_word":"",'
}
