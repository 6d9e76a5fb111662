# infer-run: answers that call tools
load lib

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cat >tools <<'E'
[{"name":"look","parameters":{"type":"object","properties":{"at":{"enum":["a","b"]},
"n":{"type":"integer","minimum":1,"maximum":9}},"required":["at","n"]}},{"name":"stop"}]
E
	printf '%s' '{# <tool_call> #}{% if tools %}{{ tools }}{% endif %}' \
		'{% for m in messages %}{{ m.content }}{% endfor %}' >template
}
go() { infer-run -q --no-stdin --template template -n 400 --temp 2 "$@"; }
# NAME: each of its calls in a record has arguments that satisfy the parameters above
calls() {
	perl -MJSON::PP -0777 -ne '$r = decode_json($_); $c = $r->{tool_calls} or exit 1;
		$r->{text} eq "" && $r->{constraint}{form} eq "tools" or exit 1;
		for (@$c) {
			$f = $_->{function};
			$v = JSON::PP->new->allow_bignum->decode($f->{arguments});
			exit 1 unless $f->{name} eq "stop" ? !keys %$v : keys %$v == 2
				&& $v->{at} =~ /^[ab]$/ && $v->{n} =~ /^[1-9]$/;
		}
		exit(@$c < '"$1"' || $r->{finish_reason} ne "tool_calls")' "$2"
}

@test "--tool-choice NAME: one call, with arguments that satisfy its parameters" {
	for seed in 1 2 3 4 5; do
		go --tools tools --tool-choice look --seed $seed -o jsonl the >out
		calls 1 out
		same look "$(json tool_calls.0.function.name <out)"
	done
	fails 2 'there is no tool nothing' go --tools tools --tool-choice nothing the
	fails 2 'goes with --tools or --batch only' go --tool-choice auto the
}

@test "--tool-choice required: calls; none: the model is not told of tools; auto: what it likes" {
	for seed in 1 2 3; do
		go --tools tools --tool-choice required --seed $seed -o jsonl the >out
		calls 1 out
	done
	go --seed 1 the >without
	go --seed 1 --tools tools --tool-choice none the >none
	same "$(cat without)" "$(cat none)"
	go --seed 1 --tools tools --tool-choice auto -o jsonl the >out
	same tools "$(json constraint.form <out)"
}

@test "a call that is cut before its arguments begin is not printed" {
	for n in $(seq 1 48); do
		go --tools tools --tool-choice look --seed 1 -n "$n" the >out
		run ! grep -qE '^look ?$' out
	done
	go --tools tools --tool-choice look --seed 1 the | grep -q '^look {'
}

@test "requests say it too, in both forms; a request that is kept says it again" {
	t=$(tr -d '\n' <tools)
	of="[{\"type\":\"function\",\"function\":$(echo "$t" | sed 's/^\[//; s/,{"name":"stop"}\]$//')}]"
	m='"messages":[{"role":"user","content":"the"}],"max_tokens":400,"temperature":2,"seed":3'
	named='{"type":"function","function":{"name":"look"}}'
	cat >batch <<-E
	{"id":"a",$m,"tools":$t,"tool_choice":"look"}
	{"id":"b",$m,"tools":$t,"tool_choice":$named}
	{"custom_id":"c","method":"POST","url":"/v1/chat/completions","body":{$m,"tools":$of,"tool_choice":$named}}
	{"id":"d",$m,"tools":$t,"tool_choice":"other"}
	{"id":"e",$m,"tool_choice":"required"}
	E
	go --batch batch --ordered --with-request >out || true
	sed -n 1p out >a
	calls 1 a
	same "$(json tool_calls.0.function.arguments <a)" \
		"$(sed -n 2p out | json tool_calls.0.function.arguments)"
	grep -q '"id":"a".*"tool_choice":{"type":"function","function":{"name":"look"}}' out
	sed -n 3p out | grep -q '"name":"look","arguments":"{'
	sed -n 4p out | grep -q 'there is no tool other'
	sed -n 5p out | grep -q 'tool_choice: there are no tools'
}

@test "what a format cannot express is refused by name" {
	echo '[{"name":"f","parameters":{"type":"object"}}]' >free
	echo '{# <function= <parameter= #}{{ tools }}{{ messages[0].content }}' >template
	fails 5 'tool f in the format qwen3-coder: parameters without a name of their own' \
		go --tools free --tool-choice required the
	echo '[{"name":"f","strict":true,"parameters":{"type":"object","properties":{"a":{"typ":1}}}}]' >free
	fails 5 'tool f in the format qwen3-coder: #/properties/a/typ: is not a keyword' \
		go --tools free --tool-choice required the
}

@test "reasoning that takes half of the tokens is ended, in each form, and calls follow" {
	for sign in '<think></think><tool_call>' '<atem:invoke name="' '<|open|>call tool="<|close|>think<|sep|>' ']<]minimax[>[<tool_call></mm:think>'; do
		start=
		case $sign in *atem*) start='<|start|>assistant' ;; esac
		printf '%s' "{# $sign #}{{ tools }}{{ messages[0].content }}$start" >template
		for seed in 1 2; do
			go -c 1024 -n 800 --tools tools --tool-choice look --seed $seed -o jsonl the >out
			calls 1 out
		done
	done
}

@test "a template whose calls are not read: a warning, once, and no call can be required" {
	printf '%s' '{{ tools }}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}' \
		'(({{ c.function.name }} {{ c.function.arguments }})){% endfor %}{% endfor %}' >template
	warning='calls in a form that is not known: calls in answers stay text'
	for choice in required look; do
		fails 5 'tool_choice must be "auto" or "none": the chat template writes calls in a form that is not known' \
			go --tools tools --tool-choice $choice the
	done
	for choice in auto none; do
		infer-run --no-stdin --template template -n 9 --tools tools --tool-choice $choice -o jsonl the >out 2>said
		same null "$(json constraint <out)"
		same $((1 - $(echo $choice | grep -c none))) "$(grep -c "$warning" said)"
	done
	t=$(tr -d '\n' <tools)
	for id in 1 2 3; do
		echo "{\"id\":$id,\"messages\":[{\"role\":\"user\",\"content\":\"the\"}],\"max_tokens\":3,\"tools\":$t}"
	done >batch
	infer-run --template template --batch batch >out 2>said
	same 3 "$(grep -c finish_reason out)"
	same 1 "$(grep -c "$warning" said)"
	infer-inspect template -m demo --template template the | grep -q '^answers *any (not read), '
	same false "$(infer-inspect template -m demo --template template --json the | json answers.read)"
}
