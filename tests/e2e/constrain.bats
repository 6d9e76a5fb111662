# infer-run: answers under constraints
load lib

go() { infer-run -q --no-stdin --seed 1 "$@"; }
bounded='{"type":"object","properties":{"the name":{"type":"string","maxLength":4},"of":{"enum":["red","blue"]}},"required":["the name","of"],"additionalProperties":false}'

@test "--regex, --choice, --grammar, --json-schema: the answer is one, and ends by itself" {
	go --regex '[0-9]{3}-[a-c]' the >out
	grep -qxE '[0-9]{3}-[a-c]' out
	go --choice 'the sun' --choice moon of >out
	grep -qxE 'the sun|moon' out
	echo 'root ::= "a " ("b" | "c") "."' >rules
	go --grammar rules the >out
	grep -qxE 'a [bc]\.' out
	echo "$bounded" >schema
	go --json-schema schema the >out
	perl -MJSON::PP -0777 -ne '$v = decode_json($_); exit !($v->{of} =~ /^(red|blue)$/ && length $v->{"the name"} <= 4 && keys %$v == 2)' out
	same "$(cat out)" "$(go --json-schema "$bounded" the)"
	same stop "$(go --json --json-schema schema the | json finish_reason)"
	same stop "$(go --json -n 200 --json-schema schema --raw the | json finish_reason)"
}

@test "--grammar: a Lark grammar, from start; its terminals are read together" {
	printf '%s\n' 'start: "fox: " NAME (", " NAME)* END' 'NAME: /[A-Z][a-z]{2,9}/' 'END: "."' >names
	for i in 1 2 3; do
		infer-run -q --no-stdin --seed $i --grammar names -n 200 the >out
		grep -qxE 'fox: [A-Z][a-z]{2,9}(, [A-Z][a-z]{2,9})*\.' out
	done
	same grammar "$(infer-inspect grammar --json names | json form)"
	infer-inspect grammar --sample 4 names | grep -qE 'fox: '
	printf 'fox: Abc, Def.' >text
	infer-inspect grammar --check text names
	printf 'fox: Abc Def.' >text
	rc=0
	infer-inspect grammar --check text names || rc=$?
	same 8 $rc
	printf '%s\n' 'start: e ";"' 'e: e "+" N | N' 'N: /[0-9]/' '%ignore " "' >sum
	go --grammar sum -n 100 the | grep -qxE '[0-9]( *\+ *[0-9])* *;'
	echo 'start.1: "a"' >rules
	fails 5 'line 1 of the grammar: priorities are not supported' go --grammar rules the
	printf 'start: x\nx[capture]: "a"\n' >rules
	infer-run -v --no-stdin --grammar rules the 2>&1 | grep -q 'capture is an annotation'
}

@test "--grammar: tokens by id and by text, in GBNF and in Lark" {
	local one
	one=$(infer-run -m demo --tokenize the | cut -d' ' -f1)
	echo "root ::= <[$one]> \"x\" !<[$one]> <|im_start|>" >rules
	go -m demo --json --logprobs 0 --grammar rules the >out
	same "$one" "$(json tokens.0 <out)"
	[ "$(json tokens.2 <out)" != "$one" ]
	same "$(infer-run -m demo --tokenize --special '<|im_start|>')" "$(json tokens.3 <out)"
	printf 'start: <[%s]> "x" <[^%s]> <|im_start|>' $one $one >lark
	same "$(json tokens <out)" "$(go -m demo --json --logprobs 0 --grammar lark the | json tokens)"
	echo 'start: <[0-3]>{3}' >lark
	go -m demo --json --logprobs 0 --grammar lark the | json tokens | grep -qxE '\[?[0-3],[0-3],[0-3]\]?'
	echo 'root ::= <none>' >rules
	fails 5 'the model has no token <none>' go -m demo --grammar rules the
	echo 'start: <[9999999]>' >rules
	fails 5 'the model has no token 9999999' go -m demo --grammar rules the
}

@test "--grammar next to --tools: tokens of GBNF are those of the grammar; Lark is refused by name" {
	local one
	one=$(infer-run -m demo --tokenize the | cut -d' ' -f1)
	printf '%s' '{# <tool_call> #}{% if tools %}{{ tools }}{% endif %}' '{% for m in messages %}{{ m.content }}{% endfor %}' >template
	echo '[{"name":"look","parameters":{"type":"object"}}]' >tools
	echo "root ::= \"x\" <[$one]> !<[$one]> <|im_start|>" >rules
	go -m demo --template template --tools tools --json --logprobs 0 --logit-bias "$(infer-run -m demo --tokenize '<')=-100" --grammar rules the >out
	same "x $one $(infer-run -m demo --tokenize --special '<|im_start|>')" "$(json text <out | cut -c1) $(json tokens.1 <out) $(json tokens.3 <out)"
	[ "$(json tokens.2 <out)" != "$one" ]
	printf 'start: A\nA: /a+/\n' >lark
	fails 5 'a Lark grammar together with tools is not supported; write it in GBNF' go -m demo --template template --tools tools --grammar lark the
	go -m demo --template template --grammar lark -n 9 the | grep -qxE 'a+'
}

@test "log-probabilities are those of the model without the constraint" {
	go --choice the --json --logprobs 0 of >a
	[ "$(json logprobs.0 <a)" != 0 ]
}

@test "a constraint that cannot be enforced is exit 5, with its place" {
	fails 5 '--json-schema: #/properties/a/typ: is not a keyword' go --json-schema '{"properties":{"a":{"typ":1}}}' the
	fails 5 'no text satisfies it' go --json-schema false the
	fails 5 'lone surrogate|surrogate' go --json-schema '{"const":"\ud800"}' the
	fails 5 'nest|deep' go --json-schema <(perl -e 'print "{\"not\":" x 100000, "{}", "}" x 100000') the
	fails 5 'needs more than' go --regex '((a{0,1000}){0,1000}){0,1000}' the
	fails 5 'needs more than 40 bytes' go --constraint-budget 10 --regex '[a-z]{9}' the
	fails 5 '--regex: ' go --regex '(' the
	echo 'root ::= a' >rules
	fails 5 '--grammar: ' go --grammar rules the
	fails 1 'missing' go --grammar missing the
	# the rules themselves
	same yes "$(go --grammar 'root ::= "yes"' the)"
	same yes "$(go --grammar 'start: "yes"' the)"
	same yes "$(go --grammar $'one: "yes"\nstart: one' the)"
	fails 5 'line 1 of the grammar: rule other is not defined' go --grammar 'root ::= "yes" other' the
	fails 2 '--choice does not go with --regex' go --regex a --choice b the
	fails 2 '--regex does not go with -i' infer-run -i --regex a
}

@test "--lax-schema ignores by name, on standard error and in the record" {
	infer-run --no-stdin --seed 1 --lax-schema --json --json-schema '{"typ":1,"const":true}' the >out 2>err
	grep -qx 'infer-run: warning: --json-schema: #/typ is ignored' err
	same '["#/typ"]' "$(json constraint.ignored <out)"
	same json_schema "$(json constraint.form <out)"
	same true "$(json text <out)"
}

@test "a batch: constraints of its own, of the options, in OpenAI's form; faults by field" {
	cat >in <<-'END'
		{"id":"a","prompt":"the","regex":"[ab]{4}"}
		{"id":"b","prompt":"the","choice":["sun","moon"]}
		{"id":"c","prompt":"the","response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"const":[1]}}}}
		{"id":"d","prompt":"the","json_schema":{"const":1,"enums":2}}
		{"id":"e","prompt":"the","regex":"a","choice":["b"]}
		{"id":"f","prompt":"the","max_tokens":3}
		{"id":"g","prompt":"the","response_format":{"type":"text"},"max_tokens":3}
		{"id":"h","prompt":"the","grammar":"root ::= \"yes\" root | \"no\""}
		{"custom_id":"i","method":"POST","url":"/v1/completions","body":{"prompt":"the","json_object":true,"regex":"a"}}
		{"id":"j","prompt":"the","response_format":{"type":"json_schema","json_schema":{"name":3,"schema":{}}}}
	END
	rc=0
	infer-run -q --batch in --ordered --with-request --regex 'z{2}' >out || rc=$?
	same 7 $rc
	sed -n 1p out | json text | grep -qxE '[ab]{4}'
	sed -n 2p out | json text | grep -qxE 'sun|moon'
	sed -n 3p out | json text | grep -qxE '\[\s*1(\.0*)?(e[+-]?0+)?\s*\]|\[.*\]'
	same 'INFER_EEMPTY json_schema #/enums: is not a keyword of this draft; enum is' "$(sed -n 4p out | { read -r l; echo "$(json code <<<"$l") $(json param <<<"$l") $(json message <<<"$l")"; })"
	sed -n 5p out | json message | grep -q 'regex and choice exclude each other'
	same zz "$(sed -n 6p out | json text)"
	same null "$(sed -n 7p out | json constraint)"
	sed -n 8p out | json text | grep -qxE '(yes)*no'
	sed -n 10p out | json message | grep -q 'the name of json_schema'
	sed -n '1,3p;6,8p' out >records
	infer-run -q --replay records >replayed
	infer-run -q --batch in --ordered --regex 'z{2}' --no-jump -t 2 >again || :
	same "$(grep '"text"' out | json text)" "$(grep '"text"' again | json text)"
}
