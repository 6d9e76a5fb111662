# infer-serve: fields of requests, and how they combine with each other and with the server's options
load lib
load serve

TALK='"messages":[{"role":"user","content":"What is a token?"}],"temperature":0'

@test "chat_template_kwargs of a request win over --think and --template-args, name by name" {
	cat >template <<'E'
{% for m in messages %}{{ m.content }}{% endfor %}|{{ enable_thinking|default('-') }}|{{ thinking|default('-') }}|{{ a|default('-') }}|{{ b|default('-') }}|{% if not enable_thinking|default(true) %}off{% endif %}
E
	serve -m demo --template template --think off --template-args '{"a":1,"b":2}'
	prompt() { own ask POST /apply-template "{$TALK$1}" | json prompt | sed 's/^[^|]*//'; }
	same '|False|False|1|2|off' "$(prompt '')"
	same '|True|True|1|2|' "$(prompt ',"chat_template_kwargs":{"enable_thinking":true}')"
	same '|True|True|1|3|' "$(prompt ',"chat_template_kwargs":{"thinking":true,"b":3}')"
	same '|True|False|1|2|' "$(prompt ',"chat_template_kwargs":{"enable_thinking":true,"thinking":false}')"
	same '|False|False|1|3|off' "$(prompt ',"chat_template_kwargs":{"b":3}')"
	# in other interfaces too: without "off" the prompt is shorter
	messages() { own ask POST /v1/messages "{$TALK,\"max_tokens\":1$1}" | json usage.input_tokens; }
	[ "$(messages ',"chat_template_kwargs":{"enable_thinking":true}')" -lt "$(messages '')" ]
}

@test "a format together with tools: the answer is a call, or fits the format, in every interface; what tool_choice makes of it" {
	printf '%s' '{# <tool_call> #}{% if tools %}{{ tools }}{% endif %}' '{% for m in messages %}{{ m.content }}{% endfor %}' >template
	serve -m "$M" --template template
	p='{"type":"object","properties":{"at":{"enum":["a","b"]},"n":{"type":"integer","minimum":1,"maximum":9}},"required":["at","n"]}'
	s='{"type":"object","properties":{"x":{"enum":["p","q"]},"y":{"enum":[1,2]}},"required":["x","y"],"additionalProperties":false}'
	# KIND [FIELDS]: the body of an interface
	body() {
		case $1 in
		chat) echo "\"messages\":[{\"role\":\"user\",\"content\":\"the\"}],\"max_tokens\":400,\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"look\",\"parameters\":$p}}],\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"s\",\"schema\":$s}}" ;;
		responses) echo "\"input\":\"the\",\"max_output_tokens\":400,\"tools\":[{\"type\":\"function\",\"name\":\"look\",\"parameters\":$p}],\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"s\",\"schema\":$s}}" ;;
		messages) echo "\"messages\":[{\"role\":\"user\",\"content\":\"the\"}],\"max_tokens\":400,\"tools\":[{\"name\":\"look\",\"input_schema\":$p}],\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":$s}}" ;;
		esac
	}
	# KIND: "call", or "text", of each answer that is as it must be
	kinds() {
		perl -MJSON::PP -ne '
			my $r = decode_json($_); my (@calls, $text);
			if ("'"$1"'" eq "chat") {
				my $m = $r->{choices}[0]{message}; $text = $m->{content};
				@calls = map { $_->{function}{arguments} } @{$m->{tool_calls} || []};
			} elsif ("'"$1"'" eq "responses") {
				for (@{$r->{output}}) {
					push @calls, $_->{arguments} if $_->{type} eq "function_call";
					$text = $_->{content}[0]{text} if $_->{type} eq "message";
				}
			} else {
				for (@{$r->{content}}) {
					push @calls, encode_json($_->{input}) if $_->{type} eq "tool_use";
					$text = $_->{text} if $_->{type} eq "text";
				}
			}
			die $_ if @calls && defined $text && $text ne "";
			for my $c (@calls ? @calls : $text) {
				my $v = decode_json($c);
				die $_ unless keys %$v == 2 && (@calls ? $v->{at} =~ /^[ab]$/ && $v->{n} =~ /^[1-9]$/ : $v->{x} =~ /^[pq]$/ && $v->{y} =~ /^[12]$/);
			}
			print @calls ? "call\n" : "text\n";'
	}
	for kind in chat responses messages; do
		path=/v1/$kind
		[ $kind != chat ] || path=/v1/chat/completions
		for seed in 1 2 3 4 5 6 7 8; do
			own ask POST $path "{$(body $kind),\"seed\":$seed}"
		done | kinds $kind >said
		same 'call text' "$(sort -u said | xargs)"
		any='"tool_choice":"required"' none='"tool_choice":"none"'
		[ $kind != messages ] || any='"tool_choice":{"type":"any"}' none='"tool_choice":{"type":"none"}'
		same 'call text' "$(for c in "$any" "$none"; do own ask POST $path "{$(body $kind),$c,\"seed\":3}"; done | kinds $kind | xargs)"
	done
	# a stream has the same
	own stream /v1/chat/completions "{$(body chat),\"seed\":3,\"stream\":true}" >events
	[ "$(grep -c '"finish_reason":"\(tool_calls\|stop\)"' events)" = 1 ]
	# a grammar: in GBNF; one in Lark is refused
	body chat | sed 's/"response_format".*/"structured_outputs":{"grammar":/' >first
	for seed in 1 2 3 4 5 6 7 8; do
		own ask POST /v1/chat/completions "{$(cat first)\"root ::= \\\"p\\\" | \\\"q\\\"\"},\"seed\":$seed}" | json choices.0.message | sed -E 's/.*"look".*/call/; s/.*"content":"[pq]".*/text/'
	done >said
	same 'call text' "$(sort -u said | xargs)"
	own ask POST /v1/chat/completions "{$(cat first)\"start: \\\"p\\\" | \\\"q\\\"\"}}" >out
	same 'a Lark grammar together with tools is not supported; write it in GBNF' "$(json error.message <out)"
	end_server
	# batch lines, and what is recorded of them; options of a single prompt
	printf '[{"name":"look","parameters":%s}]' "$p" >tools
	for seed in 1 2 3 4 5 6 7 8; do
		printf '{"id":"%s","messages":[{"role":"user","content":"the"}],"max_tokens":400,"seed":%s,"tools":%s,"json_schema":%s}\n' $seed $seed "$(cat tools)" "$s"
	done >lines
	infer-run -q -m "$M" --template template --batch lines --ordered --with-request >out
	same 'text tool_calls' "$(perl -MJSON::PP -ne 'my $r = decode_json($_); print $r->{tool_calls} ? "tool_calls\n" : "text\n"' out | sort -u | xargs)"
	same "$(grep -c '"json_schema":{' out)" 8
	infer-run -q -m "$M" --template template --replay out
	said() { perl -MJSON::PP -ne 'my $r = decode_json($_); print $r->{tool_calls} ? $r->{tool_calls}[0]{function}{arguments} : $r->{text}'; }
	for seed in 1 2 3; do
		infer-run -q -m "$M" --template template --no-stdin -n 400 --seed $seed --tools tools --json-schema "$s" -o jsonl the >one
		same "$(sed -n ${seed}p out | said)" "$(said <one)"
	done
}

@test "echo: offsets of tokens in the text, where the tokenizer puts a space before it; usage is null until it is known" {
	serve -m "$SPM"
	own ask POST /v1/completions '{"prompt":"the of","temperature":0,"max_tokens":2,"echo":true,"logprobs":0}' >whole
	own stream /v1/completions '{"prompt":"the of","temperature":0,"max_tokens":2,"echo":true,"logprobs":0,"stream":true,"stream_options":{"include_usage":true}}' | sed '$d' >events
	# each token is in the text at its offset, but for the space before the first and control tokens
	perl -MJSON::PP -ne '
		my $c = decode_json($_)->{choices}[0] or next;
		my $l = $c->{logprobs} or next;
		$text .= $c->{text}; push @t, @{$l->{tokens}}; push @o, @{$l->{text_offset}};
		END {
			for my $i (0 .. $#t) {
				my $t = $t[$i];
				$t =~ s/^ // if $o[$i] == 0;
				next if $t =~ /^</;
				die "$t at $o[$i] of $text" unless substr($text, $o[$i], length $t) eq $t;
			}
			print "$#t @o\n";
		}' whole >offsets
	perl -MJSON::PP -ne '
		my $d = decode_json($_);
		exists $d->{usage} or die "no usage: $_";
		push @o, @{$d->{choices}[0]{logprobs}{text_offset}} if @{$d->{choices}};
		print "@o\n" if !@{$d->{choices}} && $d->{usage}' events >streamed
	same "$(cut -d' ' -f2- offsets)" "$(cat streamed)"
	same '0 0 3' "$(cut -d' ' -f2-4 offsets)"
}

@test "a thinking budget: reasoning ends after as many tokens, in every interface; what is recorded is answered alike" {
	printf '%s' '{# </think> #}{% for m in messages %}{{ m.content }}{% endfor %}<think>' >template
	mkmodel --ctx 4000 wide.gguf
	serve -m wide.gguf --template template
	m='"messages":[{"role":"user","content":"the"}],"max_tokens":64,"seed":3,"ignore_eos":true'
	tokens() { own ask POST /v1/chat/completions "{$m$1}" | json usage.completion_tokens_details.reasoning_tokens; }
	free=$(tokens '')
	for n in 0 1 5 20; do
		# the tag, which is several tokens here, is not reasoning
		got=$(tokens ",\"thinking_token_budget\":$n")
		[ "$got" -ge "$n" ] && [ "$got" -le $((n + 12)) ] && [ "$got" -lt "$free" ]
		for name in thinking_budget_tokens reasoning_budget_tokens; do
			same "$got" "$(tokens ",\"$name\":$n")"
		done
	done
	same "$free" "$(tokens ',"thinking_token_budget":-1')"
	same "$free" "$(tokens ',"thinking_token_budget":64')"
	same 'thinking_token_budget' "$(own ask POST /v1/chat/completions "{$m,\"thinking_token_budget\":1.5}" | json error.param)"
	# Anthropic's, of which the least is 1024
	a='"messages":[{"role":"user","content":"the"}],"max_tokens":1200,"seed":3,"ignore_eos":true,"thinking":{"type":"enabled","budget_tokens":1024}'
	own ask POST /v1/messages "{$a}" >out
	same 'thinking text' "$(json content.0.type <out) $(json content.1.type <out)"
	end_server
	# our own lines, with a constraint and without; the same bits again, and in a batch of several
	for n in 3 9; do
		printf '{"id":"%s","messages":[{"role":"user","content":"the"}],"max_tokens":64,"seed":3,"think_budget":%s}\n' $n $n
		printf '{"id":"c%s","messages":[{"role":"user","content":"the"}],"max_tokens":64,"seed":3,"think_budget":%s,"choice":["yes","no"]}\n' $n $n
	done >lines
	infer-run -q -m "$M" --template template --ignore-eos --batch lines --ordered --with-request >out
	same 4 "$(grep -c '"think_budget":[39]' out)"
	same 'yes|no' "$(sed -n '2p;4p' out | json text | sort -u | grep -qxE 'yes|no' && echo 'yes|no')"
	infer-run -q -m "$M" --template template --replay out
	echo '{"prompt":"the","raw":true,"think_budget":3}' | infer-run -q -m "$M" --batch - | grep -q 'think_budget needs a conversation'
}

@test "--think-budget: of requests that have no limit of their own, of a prompt, of the lines of a batch, through --server" {
	printf '%s' '{# </think> #}{% for m in messages %}{{ m.content }}{% endfor %}<think>' >template
	a=(-m "$M" --template template)
	m='"messages":[{"role":"user","content":"the"}],"max_tokens":64,"seed":3,"ignore_eos":true'
	tokens() { own ask POST /v1/chat/completions "{$m$1}" | json usage.completion_tokens_details.reasoning_tokens; }
	reasoned() { infer-run -q --no-stdin --seed 3 --ignore-eos -n 64 "$@" --json the >out && json reasoning <out; }
	serve "${a[@]}"
	free=$(tokens '') limited=$(tokens ',"thinking_token_budget":5') text=$(reasoned --server unix:own --think-budget 5)
	[ "$limited" -lt "$free" ]
	end_server
	serve "${a[@]}" --think-budget 5
	same "$limited $free" "$(tokens '') $(tokens ',"thinking_token_budget":-1')"
	same "$(tokens ',"thinking_token_budget":9')" "$(tokens ',"reasoning_budget_tokens":9')"
	same 2 "$(own ask POST /v1/completions '{"prompt":"the","max_tokens":2,"ignore_eos":true}' | json usage.completion_tokens)"
	end_server
	# the same bits in every way, with a constraint and without
	[ -n "$text" ] && same "$text" "$(reasoned "${a[@]}" --think-budget 5)"
	same "$text" "$(reasoned "${a[@]}" --think-budget 5 --regex '[a-z]{3}')"
	json text <out | grep -qxE '[a-z]{3}'
	printf '{"prompt":"the","max_tokens":64,"seed":3%s}\n' '' ',"think_budget":-1' ',"think_budget":2' >lines
	infer-run -q "${a[@]}" --ignore-eos --think-budget 5 --batch lines --ordered --with-request >out
	same "$text" "$(sed -n 1p out | json reasoning)"
	[ "$(sed -n 2p out | json reasoning | wc -c)" -gt "${#text}" ]
	[ "$(sed -n 3p out | json reasoning | wc -c)" -lt "${#text}" ]
	infer-run -q "${a[@]}" --replay out
	# 0: thinking is switched off, if the template can and nothing else says so
	printf '%s' "{% for m in messages %}{{ m.content }}{% endfor %}<think>{{ '' if enable_thinking else '</think>' }}" >switch
	shown() { infer-run -q --no-stdin -m "$M" --template switch --render "$@" the; }
	same 'the<think></think>' "$(shown --think-budget 0)"
	same 'the<think>' "$(shown --think-budget 0 --think on)"
	same "$(shown --think on --think-budget 7)" "$(shown --think on)"
	fails 2 '--think-budget' infer-run -q --no-stdin -m "$M" --think-budget -2 the
	fails 2 '--think-budget' infer-run -q --no-stdin -m "$M" --raw --think-budget 2 the
}

@test "--parallel: slots, requests that wait, answers that do not depend on it, memory of the cache" {
	for n in 1 2 64; do
		serve -m "$M" --parallel $n -v
		same $n "$(own ask GET /slots | json '#')"
		same $n "$(own ask GET /props | json total_slots)"
		same "$n" "$(own ask GET /health | json slots_idle)"
		same id_slot "$(own ask POST /completion "{\"prompt\":\"the\",\"n_predict\":1,\"id_slot\":$n}" | json error.param)"
		for i in 1 2 3 4 5 6; do
			echo "{\"prompt\":\"the of\",\"seed\":$i,\"max_tokens\":20}"
		done | own many 6 /v1/completions | json choices.0.text >answers.$n
		end_server
	done
	same "$(cat answers.1)" "$(cat answers.2)"
	same "$(cat answers.1)" "$(cat answers.64)"
	fails 2 'parallel' infer-serve -m "$M" --parallel 0
	fails 2 'parallel' infer-serve -m "$M" --parallel 1025
	fails 2 'parallel' infer-serve -m "$M" --max-num-seqs 4
}

@test "bad_words: never in an answer, in any interface; with a grammar; what is recorded is answered alike" {
	serve -m "$M"
	q='"prompt":"the of","temperature":0,"max_tokens":24,"ignore_eos":true'
	own ask POST /v1/completions "{$q}" | json choices.0.text >text
	word=$(perl -0777 -ne 'my @w = /[A-Za-z]{2,}/g; print $w[2]' text)
	[ -n "$word" ]
	grep -qw "$word" text
	own ask POST /v1/completions "{$q,\"bad_words\":[\"$word\"]}" | json choices.0.text >out
	! grep -qw "$word" out || false
	# the answer is the same up to there
	before=$(sed "s/ $word.*//" text)
	same "$before" "$(head -c "${#before}" out)"
	# streams and other interfaces take them, llama.cpp's too
	own ask POST /completion "{\"prompt\":\"the of\",\"temperature\":0,\"n_predict\":24,\"ignore_eos\":true,\"bad_words\":[\"$word\"]}" | json content >native
	same "$(cat out)" "$(cat native)"
	# an answer that the constraint allows no other way is an error with a name
	own ask POST /v1/completions '{"prompt":"the","max_tokens":8,"structured_outputs":{"choice":["yes"]},"bad_words":["y","ye","yes"]}' >refused
	grep -q 'no token is left to choose from' refused
	same 'no' "$(own ask POST /v1/completions '{"prompt":"the","max_tokens":8,"structured_outputs":{"choice":["yes","no"]},"bad_words":["y","ye","yes"]}' | json choices.0.text)"
	end_server
	for seed in 1 2 3; do
		printf '{"id":"%s","prompt":"the of","raw":true,"max_tokens":40,"seed":%s,"temperature":1.5,"bad_words":["a","the","%s"]}\n' $seed $seed "$word"
	done >lines
	infer-run -q -m "$M" --ignore-eos --batch lines --ordered --with-request >out
	same 6 "$(grep -o '"bad_words":\["a","the","' out | wc -l)" # in the request and in `run`
	infer-run -q -m "$M" --replay out
	sed 's/"a","the"/"a","of"/' lines | infer-run -q -m "$M" --ignore-eos --batch - --ordered -o jsonl >other
	[ "$(json text <out)" != "$(json text <other)" ]
}
