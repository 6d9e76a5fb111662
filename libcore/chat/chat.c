/* chat/chat.c - rendering conversations as prompts. */
#include "chat/chat.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "chat/tools.h"
#include "chat/turns.h"
#include "tok/tok.h"

#include <stdio.h>
#include <string.h>

/* step limit of each small conversation that is rendered when a template is opened */
enum { PROBE_STEPS = 200000 };

int chat_run(const struct infer_chat *c, const struct chat_vars *vars, struct buf *text,
             struct buf *plain, infer_error *err)
{
	static const char *const trusted[] = { "bos_token", "eos_token", "unk_token",
		                               "pad_token", "role",      NULL };
	struct jinja_options o = { .now = vars->now,
		                   .trusted = trusted,
		                   .flags = JINJA_MUTABLE,
		                   .steps = vars->probe ? PROBE_STEPS : 0,
		                   .spent = vars->spent };
	const struct json *functions = NULL;
	struct arena a;
	int rc = INFER_OK;

	arena_init(&a, MEM_CHAT);
	if (c->functions)
		rc = chat_functions(&functions, &a, vars->own, &o, err);
	o.more[0] = functions;
	o.more[1] = vars->given;
	o.more[2] = vars->think;
	if (!rc)
		rc = jinja_render(c->template, vars->own, &o, text, plain, err);
	arena_fini(&a);
	return rc;
}

int infer_chat_open(infer_chat **out, const char *source, size_t n, const char *name,
                    infer_error *err)
{
	infer_chat *c = mem_zalloc(MEM_CHAT, 1, sizeof *c);
	int rc;

	*out = NULL;
	if (!c)
		return err_nomem(err);
	buf_init(&c->source, MEM_CHAT);
	buf_init(&c->turn, MEM_CHAT);
	buf_put(&c->source, source, n);
	rc = c->source.bad ? err_nomem(err) : jinja_compile(&c->template, source, n, name, err);
	if (!rc)
		rc = chat_probe(c, source, n, err);
	if (!rc) {
		c->asks_time = c->functions || jinja_asks(c->template, "strftime_now");
		sha256_name(c->sha256, source, n);
	}
	if (rc) {
		infer_chat_close(&c);
		return rc;
	}
	*out = c;
	return INFER_OK;
}

void infer_chat_close(infer_chat **chat)
{
	if (*chat) {
		jinja_free((*chat)->template);
		buf_fini(&(*chat)->source);
		buf_fini(&(*chat)->turn);
	}
	mem_free(*chat);
	*chat = NULL;
}

void infer_chat_caps(const infer_chat *chat, struct infer_chat_caps *caps) { *caps = chat->caps; }

void infer_chat_free(void *p) { mem_free(p); }

int infer_chat_source(const infer_file *f, const char *name, struct infer_str *source,
                      infer_error *err)
{
	char key[96] = "tokenizer.chat_template";
	int found;

	*source = (struct infer_str){ 0 };
	if (name &&
	    snprintf(key, sizeof key, "tokenizer.chat_template.%s", name) >= (int)sizeof key)
		return INFER_OK;
	TRY(infer_meta_str(f, key, source, &found, err));
	return found || name
	               ? INFER_OK
	               : infer_meta_str(f, "tokenizer.chat_template.default", source, NULL, err);
}

/* ---- a context ---- */

/* Set bos_token or eos_token to its text, "" if there is none.  A token that is not UTF-8 is an
 * error if the template uses it: U+FFFD instead of it would change the prompt. */
static int set_special(struct arena *a, struct json *own, const infer_chat *chat,
                       const infer_tokenizer *t, int which, infer_error *err)
{
	const char *name = which == INFER_BOS ? "bos_token" : "eos_token";
	struct infer_token_info info;
	int32_t id = t ? infer_token_special(t, which) : -1;

	if (!t || infer_token_info(t, id, &info, NULL)) {
		json_set(own, name, json_new(a, JSON_STRING));
		return INFER_OK;
	}
	if (utf8_check(info.piece.at, info.piece.len) == info.piece.len)
		json_set(own, name, json_new_strn(a, info.piece.at, info.piece.len));
	else if (jinja_asks(chat->template, name))
		return err_set(
			err, INFER_EFORMAT,
			"the vocabulary's token %d, which is the chat template's %s, is not UTF-8",
			(int)id, name);
	return INFER_OK;
}

static void set_tools(struct arena *a, struct json *context, const infer_chat *chat,
                      const struct infer_tools *tools)
{
	if (tools && tools->n)
		json_set(context, "tools", json_share(a, tools->list));
	else /* no such token: the variable is undefined, as the template expects */
		json_set(context, "tools", json_new(a, chat->empty_tools ? JSON_ARRAY : JSON_NULL));
}

static int set_given(struct arena *a, struct chat_vars *vars, const struct infer_conversation *c,
                     const struct json *args, infer_error *err)
{
	if (args && !json_is_object(args))
		return err_set(err, INFER_EFORMAT, "the template arguments must be an object");
	vars->given = args;
	if (c->think != INFER_THINK_DEFAULT) { /* templates use either name */
		enum json_kind on = c->think == INFER_THINK_ON ? JSON_TRUE : JSON_FALSE;
		struct json *think = json_new(a, JSON_OBJECT);
		json_set(think, "enable_thinking", json_new(a, on));
		json_set(think, "thinking", json_new(a, on));
		vars->think = think;
	}
	return INFER_OK;
}

/* Insert a turn of plain text at index `at` of all. */
static int put_turn(struct arena *a, struct json *all, size_t at, const char *role,
                    const char *text, size_t n, infer_error *err)
{
	size_t good = n ? utf8_check(text, n) : 0;
	struct json *m = json_new(a, JSON_OBJECT);

	if (good < n)
		return err_set(err, INFER_EINVAL, "the %s's words are not UTF-8 at byte %zu", role,
		               good);
	json_set(m, "role", json_new_str(a, role));
	json_set(m, "content", json_new_strn(a, text, n));
	json_insert(all, at, m);
	return a->bad ? err_nomem(err) : INFER_OK;
}

static int is_system(const struct json *m)
{
	const struct json *role = json_get(m, "role");

	return json_equals(role, "system") || json_equals(role, "developer");
}

/* Set *out to all turns of c, checked, in an array that may be modified. */
static int gather_turns(struct json **out, struct arena *a, const struct infer_conversation *c,
                        const struct json *given, infer_error *err)
{
	struct json *all;

	*out = NULL;
	if (given) {
		TRY(chat_check(given, err));
		all = json_copy(a, given);
	} else {
		all = json_new(a, JSON_ARRAY);
	}
	if (!all)
		return err_nomem(err);
	if (c->system && is_system(json_first(all)))
		return err_set(err, INFER_EINVAL,
		               "a system turn is given, and the messages begin with one");
	if (c->system)
		TRY(put_turn(a, all, 0, "system", c->system, c->system_n, err));
	if (c->user)
		TRY(put_turn(a, all, json_count(all), "user", c->user, c->user_n, err));
	if (!json_count(all))
		return err_set(err, INFER_EFORMAT, "messages is an array with nothing in it");
	*out = all;
	return INFER_OK;
}

/* Set the variables of a rendering.  *last: the text that the rendering must end with, or
 * unchanged.
 * late: as in chat_fit. */
static int fill_variables(struct chat_vars *vars, struct arena *a, const struct json **last,
                          size_t *late, const infer_chat *chat, const infer_tokenizer *t,
                          const struct infer_conversation *c, const struct chat_values *v,
                          infer_error *err)
{
	struct json *messages, *own = json_new(a, JSON_OBJECT);
	int no_prompt = c->flags & INFER_CHAT_NO_PROMPT;

	TRY(gather_turns(&messages, a, c, v->messages, err));
	TRY(chat_check_roles(messages, &chat->source, err));
	if (c->flags & INFER_CHAT_CONTINUE)
		TRY(chat_mark(a, last, messages, err));
	TRY(chat_fit(a, messages, &chat->caps, late, err));
	json_set(own, "messages", messages);
	json_set(own, "documents", json_new(a, JSON_NULL));
	json_set(own, "add_generation_prompt",
	         json_new(a, no_prompt || *last ? JSON_FALSE : JSON_TRUE));
	TRY(set_special(a, own, chat, t, INFER_BOS, err));
	TRY(set_special(a, own, chat, t, INFER_EOS, err));
	set_tools(a, own, chat, c->tools);
	*vars = (struct chat_vars){ .own = own, .now = c->now };
	TRY(set_given(a, vars, c, v->args, err));
	return a->bad ? err_nomem(err) : INFER_OK;
}

int infer_chat_check(const infer_chat *chat, const struct infer_conversation *c, infer_error *err)
{
	if (c->tools && !chat->caps.tools)
		return err_set(err, INFER_EUNSUP, "the chat template does not support tools");
	if (c->think != INFER_THINK_DEFAULT && !chat->caps.thinking)
		return err_set(err, INFER_EUNSUP,
		               "the chat template does not switch thinking on and off");
	return INFER_OK;
}

/* True if the output of the template contains the text of all system turns. */
static int writes_systems(const struct json *messages, const struct buf *text)
{
	json_each(m, messages) {
		const struct json *words = json_get(m, "content");
		words = json_is_array(words) ? json_get(json_first(words), "text") : words;
		const char *s = json_str(words);
		size_t n = json_bytes(words);
		while (n && chat_space(*s))
			s++, n--;
		while (n && chat_space(s[n - 1]))
			n--;
		if (is_system(m) && n && !(text->len && memmem(text->at, text->len, s, n)))
			return 0;
	}
	return 1;
}

/* Set the variables and run the template.  System turns without a following user turn are kept in
 * the first attempt, because some templates accept them only at the end. */
static int fill_and_run(const infer_chat *chat, const infer_tokenizer *t,
                        const struct infer_conversation *c, const struct chat_values *v,
                        struct arena *a, const struct json **last, struct buf *out,
                        struct buf *from, int *spent, infer_error *err)
{
	struct chat_vars vars;
	size_t late = 0;

	TRY(fill_variables(&vars, a, last, &late, chat, t, c, v, err));
	vars.spent = spent;
	int rc = chat_run(chat, &vars, out, from, err);
	if (!late || (rc && rc != INFER_EFORMAT) ||
	    (!rc && writes_systems(json_get(vars.own, "messages"), out)))
		return rc;
	arena_reset(a);
	buf_clear(out);
	if (from)
		buf_clear(from);
	TRY(fill_variables(&vars, a, last, NULL, chat, t, c, v, err));
	vars.spent = spent;
	return chat_run(chat, &vars, out, from, err);
}

static int render(const infer_chat *chat, const infer_tokenizer *t,
                  const struct infer_conversation *c, const struct chat_values *v, char **text,
                  unsigned char **plain, size_t *n, int *spent, infer_error *err)
{
	const struct json *last = NULL;
	struct buf out, from;
	struct arena a;
	size_t same;

	*text = NULL;
	*n = 0;
	if (plain)
		*plain = NULL;
	arena_init(&a, MEM_CHAT);
	buf_init(&out, MEM_CHAT);
	buf_init(&from, MEM_CHAT);
	int rc = fill_and_run(chat, t, c, v, &a, &last, &out, plain ? &from : NULL, spent, err);
	if (!rc && last)
		rc = chat_cut(&out, &from, last, err);
	arena_fini(&a);
	buf_putc(&out, 0);
	buf_putc(&from, 0);
	if (!rc && (out.bad || from.bad))
		rc = err_nomem(err);
	if (!rc) {
		*text = buf_take(&out, n);
		--*n;
		if (plain)
			*plain = (unsigned char *)buf_take(&from, &same);
	}
	buf_fini(&out);
	buf_fini(&from);
	return rc;
}

int chat_values(struct chat_values *v, struct arena *a, const struct infer_conversation *c,
                infer_error *err)
{
	if (!v->messages && c->turns && !(v->messages = turns_list(a, c->turns)))
		return err_nomem(err);
	if (!v->messages && c->messages) {
		TRY(jread(&v->messages, a, c->messages, c->messages_n, "messages", err));
		v->messages = chat_messages(v->messages);
	}
	return c->args && !v->args
	               ? jread(&v->args, a, c->args, c->args_n, "template arguments", err)
	               : INFER_OK;
}

int infer_chat_render(const infer_chat *chat, const infer_tokenizer *t,
                      const struct infer_conversation *c, char **text, unsigned char **plain,
                      size_t *n, infer_error *err)
{
	struct chat_values v = { 0 };
	struct arena a;
	int rc;

	*text = NULL;
	*n = 0;
	if (plain)
		*plain = NULL;
	arena_init(&a, MEM_CHAT);
	rc = chat_values(&v, &a, c, err);
	if (!rc)
		rc = render(chat, t, c, &v, text, plain, n, NULL, err);
	arena_fini(&a);
	return rc;
}

int chat_encode_json(const infer_chat *chat, const infer_tokenizer *t,
                     const struct infer_conversation *c, const struct chat_values *v, int32_t **ids,
                     size_t *n_ids, int *spent, infer_error *err)
{
	struct chat_values own = *v;
	unsigned char *plain;
	struct arena a;
	char *text;
	size_t n;
	int rc;

	*ids = NULL;
	*n_ids = 0;
	arena_init(&a, MEM_CHAT);
	rc = chat_values(&own, &a, c, err);
	if (!rc)
		rc = render(chat, t, c, &own, &text, &plain, &n, spent, err);
	arena_fini(&a);
	TRY(rc);
	rc = tok_encode(t, text, n, plain, INFER_ENCODE_SPECIAL, ids, n_ids, err);
	mem_free(text);
	mem_free(plain);
	return rc;
}

int infer_chat_encode(const infer_chat *chat, const infer_tokenizer *t,
                      const struct infer_conversation *c, int32_t **ids, size_t *n_ids,
                      infer_error *err)
{
	struct chat_values v = { 0 };
	struct arena a;
	int rc;

	*ids = NULL;
	*n_ids = 0;
	arena_init(&a, MEM_CHAT);
	rc = chat_values(&v, &a, c, err);
	if (!rc)
		rc = chat_encode_json(chat, t, c, &v, ids, n_ids, NULL, err);
	arena_fini(&a);
	return rc;
}
