/* tests/unit/chat/templates.h - templates that several tests use: plain ChatML, one without a system
 * turn, and one with tools and their calls. */
#ifndef TESTS_UNIT_CHAT_TEMPLATES_H
#define TESTS_UNIT_CHAT_TEMPLATES_H

#define CHATML \
	"{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if " \
	"add_generation_prompt %}<|assistant|>{% endif %}"
#define TYPED \
	"{% for m in messages %}<message role=\"{{ m.role }}\" type=\"turn\">{% if m.content is " \
	"string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% " \
	"endif %}</message>{% endfor %}"
#define NO_SYSTEM \
	"{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% " \
	"elif m.role not in ['user', 'assistant'] %}" \
	"{{ raise_exception('role ' + m.role) }}{% endif %}[{{ m.role }}]{{ m.content|trim }}{% " \
	"endfor %}"
#define CALLS \
	"{% for m in messages %}<{{ m.role }}>{% if m.content is string %}{{ m.content }}{% else " \
	"%}{% for p in m.content %}{{ p.text }};{% endfor %}" \
	"{% endif %}{% for c in m.tool_calls or [] %}({{ c.function.name }}{% for k, v in " \
	"c.function.arguments|items %} {{ k }}={{ v }}{% endfor %}){% endfor %}" \
	"{% endfor %}{% for t in tools or [] %}#{{ t.function.name }}{% endfor %}{{ '?' if " \
	"enable_thinking|default(false) }}"
#endif
