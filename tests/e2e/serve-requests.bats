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
