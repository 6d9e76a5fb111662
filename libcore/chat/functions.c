/* chat/functions.c - the variables that FireFunction's template needs, besides those of transformers
 *
 * Its publisher renders it with `functions`, the bare functions as Python's json.dumps writes them with an
 * indent of 4.  Without tools `functions` is empty, and `datetime` is a date, as in llama.cpp's server: a
 * time of day would end the cached prefix of every conversation at the system turn. */
#include "chat/chat.h"
#include "base/err.h"

#include <string.h>

static const struct {
	const char *name, *source;
} variables[] = {
	{ "functions",
	  "{% set ns = namespace(all=[]) %}{% for t in tools or [] %}{% set ns.all = ns.all + "
	  "[t.function if "
	  "t.function is defined else t] %}{% endfor %}{% if ns.all %}{{ ns.all|tojson(indent=4, "
	  "ensure_ascii=true) }}{% endif %}" },
	{ "datetime", "{{ strftime_now('%b %d %Y') }}" },
};
enum { VARIABLES = sizeof variables / sizeof *variables };

static int render_variable(struct json *to, struct arena *a, int i, const struct json *own,
                           const struct jinja_options *o, infer_error *err)
{
	struct jinja *template;
	struct buf text;
	int rc = jinja_compile(&template, variables[i].source, strlen(variables[i].source),
	                       variables[i].name, err);

	buf_init(&text, MEM_CHAT);
	if (!rc)
		rc = jinja_render(template, own, o, &text, NULL, err);
	if (!rc)
		json_set(to, variables[i].name,
		         json_new_strn(a, text.len ? text.at : "", text.len));
	buf_fini(&text);
	jinja_free(template);
	return rc || !a->bad ? rc : err_nomem(err);
}

int chat_functions(const struct json **out, struct arena *a, const struct json *own,
                   const struct jinja_options *o, infer_error *err)
{
	struct json *to = json_new(a, JSON_OBJECT);

	*out = to;
	if (!to)
		return err_nomem(err);
	for (int i = 0; i < VARIABLES; i++)
		TRY(render_variable(to, a, i, own, o, err));
	return INFER_OK;
}
