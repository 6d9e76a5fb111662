/* hf/template.c - chat templates: chat_template.jinja and additional_chat_templates/NAME.jinja, else
 * chat_template of tokenizer_config.json, else that of chat_template.json.  The member is a string or a
 * list of {"name", "template"}. */
#include "base/err.h"
#include "hf/hf.h"

#include <stdio.h>
#include <string.h>

#define KEY "tokenizer.chat_template"
enum { NAME_MAX_BYTES = 64 };

/* The templates of a directory, in the order of the keys.  standard: the unnamed one. */
struct named {
	char name[NAME_MAX_BYTES + 1];
	const char *at;
	size_t n;
};
struct templates {
	struct named *at; /* [n] templates with names */
	uint32_t n;
	struct named standard; /* standard.at is NULL: no such template */
};

/* Append a template under its name in GGUF: characters other than letters and digits become '_'. */
static int put_named(struct hf_dir *d, struct templates *t, const char *file, struct infer_str name,
                     struct infer_str text, infer_error *err)
{
	struct named *x = &t->at[t->n];

	if (!name.len || name.len > NAME_MAX_BYTES)
		return hf_fail(d, file, INFER_EFORMAT, err,
		               "the name of a chat template must have 1 ... %d bytes",
		               NAME_MAX_BYTES);
	*x = (struct named){ .at = text.at, .n = text.len };
	for (size_t i = 0, to = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.at[i];
		if ((c & 0xc0) == 0x80) /* continuation bytes: one '_' for a character */
			continue;
		int kept = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
		x->name[to++] = kept ? (char)c : '_';
	}
	if (!strcmp(x->name, "default")) {
		if (t->standard.at)
			return hf_fail(d, file, INFER_EFORMAT, err,
			               "two chat templates are the default");
		t->standard = *x;
		return INFER_OK;
	}
	for (uint32_t i = 0; i < t->n; i++)
		if (!strcmp(t->at[i].name, x->name))
			return hf_fail(d, file, INFER_EFORMAT, err,
			               "two chat templates are called %s", x->name);
	t->n++;
	return INFER_OK;
}

static int new_list(struct hf_dir *d, struct templates *t, size_t n, infer_error *err)
{
	t->at = arena_alloc(&d->brief, n + 1, sizeof *t->at);
	return t->at ? INFER_OK
	             : err_set(err, INFER_ENOMEM, "%s: no memory for chat templates",
	                       file_label(d->path));
}

/* Read the value of chat_template: a string, or a list of {"name", "template"}. */
static int read_value(struct hf_dir *d, struct templates *t, const char *file, const struct json *v,
                      infer_error *err)
{
	if (json_is_string(v)) {
		t->standard = (struct named){ .at = v->s, .n = v->n };
		return INFER_OK;
	}
	if (!json_is_array(v))
		return hf_fail(d, file, INFER_EFORMAT, err,
		               "chat_template must be a string or an array");
	TRY(new_list(d, t, json_count(v), err));
	json_each(x, v) {
		const struct json *name = json_get(x, "name"), *text = json_get(x, "template");

		if (!json_is_string(name) || !json_is_string(text))
			return hf_fail(d, file, INFER_EFORMAT, err,
			               "chat_template: an element must have a name and a template");
		TRY(put_named(d, t, file, (struct infer_str){ name->s, name->n },
		              (struct infer_str){ text->s, text->n }, err));
	}
	return INFER_OK;
}

/* Read chat_template.jinja and the files of additional_chat_templates. */
static int read_files(struct hf_dir *d, struct templates *t, infer_error *err)
{
	TRY(new_list(d, t, (size_t)d->n_more, err));
	if (d->template.at)
		t->standard = (struct named){ .at = d->template.at, .n = d->template.n };
	for (int i = 0; i < d->n_more; i++) {
		const struct hf_text *x = &d->more_templates[i];
		const char *name = strrchr(x->name, '/') ? strrchr(x->name, '/') + 1 : x->name;
		size_t n = strlen(name) - strlen(".jinja");

		TRY(put_named(d, t, x->name, (struct infer_str){ name, n },
		              (struct infer_str){ x->at, x->n }, err));
	}
	return INFER_OK;
}

static int read_json(struct hf_dir *d, const struct json **v, infer_error *err)
{
	TRY(hf_json_read(d, &d->template_json, v, err));
	if (*v && !json_is_object(*v))
		return hf_fail(d, d->template_json.name, INFER_EFORMAT, err,
		               "must be a JSON object");
	*v = json_get(*v, "chat_template");
	return INFER_OK;
}

static int find_templates(struct hf_dir *d, struct templates *t, infer_error *err)
{
	const struct json *own = json_get(d->tokenizer_config, "chat_template"), *v;

	if (d->template.at || d->n_more)
		return read_files(d, t, err);
	if (own && !json_is_null(own))
		return read_value(d, t, "tokenizer_config.json", own, err);
	TRY(read_json(d, &v, err));
	return v && !json_is_null(v) ? read_value(d, t, d->template_json.name, v, err) : INFER_OK;
}

int hf_templates(struct hf_dir *d, infer_error *err)
{
	char key[sizeof KEY + NAME_MAX_BYTES + 1];
	struct templates t = { 0 };
	struct buf names;

	TRY(find_templates(d, &t, err));
	buf_init(&names, MEM_FILE);
	for (uint32_t i = 0; i < t.n; i++) {
		snprintf(key, sizeof key, KEY ".%s", t.at[i].name);
		gguf_write_str(d->keys, key, t.at[i].at, t.at[i].n);
		gguf_put_str(&names, t.at[i].name, strlen(t.at[i].name));
	}
	if (t.n)
		gguf_write_array(d->keys, "tokenizer.chat_templates", INFER_META_STR, t.n, names.at,
		                 names.len);
	if (t.standard.at)
		gguf_write_str(d->keys, KEY, t.standard.at, t.standard.n);
	int bad = names.bad;
	buf_fini(&names);
	return bad ? err_set(err, INFER_ENOMEM, "%s: no memory for chat templates",
	                     file_label(d->path))
	           : INFER_OK;
}
