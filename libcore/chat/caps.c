/* chat/caps.c - finding the capabilities of a template by rendering small conversations. */
#include "chat/chat.h"
#include "base/err.h"
#include "base/jread.h"
#include "chat/dialect.h"

#include <string.h>

#define TOOLS \
	"\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"@T@\",\"description\":\"d\"," \
	"\"parameters\":{\"type\":\"object\"," \
	"\"properties\":{\"a\":{\"type\":\"string\",\"description\":\"d\"}},\"required\":[\"a\"]}" \
	"}}]"
#define CALL(content, args) CALL_OF("call00001", content, args)
#define CALL_OF(id, content, args) \
	"\"messages\":[{\"role\":\"user\",\"content\":\"@U@\"},{\"role\":\"assistant\"," \
	"\"content\":" content "," \
	"\"tool_calls\":[{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"@T@" \
	"\",\"arguments\":" args "}}]}," \
	"{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"name\":\"@T@\",\"content\":\"@R@\"}]" \
	"," TOOLS
#define SAY(role) \
	"\"messages\":[{\"role\":\"" role \
	"\",\"content\":\"@S@\"},{\"role\":\"user\",\"content\":\"@U@\"}]"
#define USER "\"messages\":[{\"role\":\"user\",\"content\":\"@U@\"}]"
#define OBJECT "{\"@A@\":\"@V@\"}"
#define QUOTED "\"{\\\"@A@\\\":\\\"@V@\\\"}\""

static const struct probe {
	const char *context, *want, *never;
	size_t cap;
} probes[] = {
	{ SAY("system"), "@S@", NULL, offsetof(struct infer_chat_caps, system) },
	{ SAY("developer"), "@S@", NULL, offsetof(struct infer_chat_caps, developer) },
	{ USER "," TOOLS, "@T@", NULL, offsetof(struct infer_chat_caps, tools) },
	{ CALL("\"\"", OBJECT), "@V@", NULL, offsetof(struct infer_chat_caps, objects) },
	{ CALL("\"\"", QUOTED), "@V@", "\\\"@A@", offsetof(struct infer_chat_caps, calls) },
};

/* Render a context, given as JSON without its braces; *text is NULL if the template fails. */
static int try(const struct infer_chat *c, const char *fields, struct buf *text, int *ok,
               infer_error *err)
{
	const struct json *read = NULL;
	struct json *j = NULL;
	int spent = 0; /* a limit that this small input exceeds is an error of the template */
	struct arena a;
	struct buf b;

	arena_init(&a, MEM_CHAT);
	buf_init(&b, MEM_CHAT);
	buf_printf(&b,
	           "{\"documents\":null,\"add_generation_prompt\":true,\"bos_token\":\"\",\"eos_"
	           "token\":\"\"%s,%s}",
	           strstr(fields, "\"tools\"") ? ""
	           : c->empty_tools            ? ",\"tools\":[]"
	                                       : ",\"tools\":null",
	           fields);
	int rc = b.bad ? INFER_ENOMEM : jread(&read, &a, b.at, b.len, "probe", NULL);
	must(!rc || rc == INFER_ENOMEM);
	buf_clear(text);
	if (!rc && !(j = json_copy(&a, read)))
		rc = INFER_ENOMEM;
	if (!rc && c->caps.only_parts) { /* test the other capabilities with content in parts */
		struct infer_chat_caps form = {
			.system = 1, .developer = 1, .parts = 1, .only_parts = 1, .null_content = 1
		};
		rc = chat_fit(&a, json_get(j, "messages"), &form, NULL, NULL);
	}
	if (!rc)
		rc = chat_run(c, &(struct chat_vars){ .own = j, .probe = 1, .spent = &spent }, text,
		              NULL, NULL);
	arena_fini(&a);
	buf_fini(&b);
	if (rc == INFER_ENOMEM && !spent)
		return err_set(err, rc, "out of memory for a chat template");
	*ok = !rc;
	return INFER_OK;
}

static int text_has(const struct buf *b, const char *s)
{
	return b->len && memmem(b->at, b->len, s, strlen(s)) != NULL;
}

static int ask(struct infer_chat *c, const char *fields, const char *want, const char *never,
               int *yes, infer_error *err)
{
	struct buf text;
	int ok = 0;

	buf_init(&text, MEM_CHAT);
	int rc = try(c, fields, &text, &ok, err);
	*yes = ok && text_has(&text, want) && !(never && text_has(&text, never));
	buf_fini(&text);
	return rc;
}

/* Set *yes to 1 if the template renders a list of parts as the texts of the parts, without
 * quotes. */
static int ask_parts(struct infer_chat *c, int *yes, infer_error *err)
{
	struct buf text;
	int ok = 0;

	buf_init(&text, MEM_CHAT);
	int rc = try(c,
	             "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
	             "\"@U@\"}]}]",
	             &text, &ok, err);
	*yes = ok && text_has(&text, "@U@") && !text_has(&text, "'@U@'") &&
	       !text_has(&text, "\"@U@\"");
	buf_fini(&text);
	return rc;
}

static int differ(struct infer_chat *c, const char *a, const char *b, int *yes, infer_error *err)
{
	struct buf x, y;
	int ok = 0, also = 0;

	buf_init(&x, MEM_CHAT);
	buf_init(&y, MEM_CHAT);
	int rc = try(c, a, &x, &ok, err);
	if (!rc)
		rc = try(c, b, &y, &also, err);
	*yes = ok && also && (x.len != y.len || (x.len && memcmp(x.at, y.at, x.len)));
	buf_fini(&x);
	buf_fini(&y);
	return rc;
}

/* Return the rendering after the user's text; NULL if it does not contain that text. */
static const char *after_user(const struct buf *text)
{
	const char *user = NULL, *p = text->at;

	while (p && (p = memmem(p, text->len - (size_t)(p - text->at), "@U@", 3)))
		user = p += 3;
	return user;
}

/* Store the rendering of a call in c->turn: all of it if it begins with the prompt, otherwise what
 * follows the user's text. */
static int keep_turn(struct infer_chat *c, const char *call, infer_error *err)
{
	struct buf text, prompt;
	const char *user;
	int ok = 0, also = 0, rc;

	buf_init(&text, MEM_CHAT);
	buf_init(&prompt, MEM_CHAT);
	rc = try(c, call, &text, &ok, err);
	if (!rc)
		rc = try(c, USER "," TOOLS, &prompt, &also, err);
	user = ok ? after_user(&text) : NULL;
	if (user && prompt.len && prompt.len < text.len &&
	    !memcmp(text.at, prompt.at, prompt.len)) {
		c->turn_prompt = prompt.len;
		user = text.at;
	}
	if (user)
		buf_put(&c->turn, user, text.len - (size_t)(user - text.at));
	buf_fini(&text);
	buf_fini(&prompt);
	return !rc && c->turn.bad ? err_nomem(err) : rc;
}

/* Find the dialect of the model in the turn that the template renders for a call. */
static int recognise(struct infer_chat *c, const char *source, size_t n, infer_error *err)
{
	static const char object[] = CALL_OF("functions.@T@:0", "\"\"", OBJECT),
			  quoted[] = CALL_OF("functions.@T@:0", "\"\"", QUOTED);
	const char *call = c->caps.objects ? CALL("\"\"", OBJECT) : CALL("\"\"", QUOTED), *user;
	struct buf text;
	int ok = 0, rc = INFER_OK;

	buf_init(&text, MEM_CHAT);
	if (c->caps.calls)
		rc = try(c, call, &text, &ok, err);
	user = ok ? after_user(&text) : NULL;
	c->thinks =
		dialect_recognise(user ? user : "", user ? text.len - (size_t)(user - text.at) : 0,
	                          source, n, &c->calls, &c->think);
	buf_fini(&text);
	if (c->calls->flags & DIALECT_NAMED_IDS)
		call = c->caps.objects ? object : quoted;
	return rc || !user ? rc : keep_turn(c, call, err);
}

int chat_probe(struct infer_chat *c, const char *source, size_t n, infer_error *err)
{
	struct infer_chat_caps *caps = &c->caps;
	int plain = 0;

	for (int i = 0; i < 3 && !plain; i++) {
		c->empty_tools = i == 1;
		c->functions = i == 2 && jinja_asks(c->template, "functions");
		TRY(ask(c, USER, "@U@", NULL, &plain, err));
	}
	if (!plain)
		c->empty_tools = c->functions = 0;
	TRY(ask_parts(c, &caps->parts, err));
	caps->only_parts = caps->parts && !plain;
	for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
		TRY(ask(c, probes[i].context, probes[i].want, probes[i].never,
		        (int *)((char *)caps + probes[i].cap), err));
	if (!plain && !caps->parts) /* the template needs unknown variables: adapt nothing */
		caps->system = caps->developer = 1;
	caps->calls |= caps->objects;
	TRY(ask(c, caps->objects ? CALL("\"\"", OBJECT) : CALL("\"\"", QUOTED), "@R@", NULL,
	        &caps->results, err));
	if (caps->calls)
		TRY(ask(c, caps->objects ? CALL("null", OBJECT) : CALL("null", QUOTED), "@V@",
		        "None", &caps->null_content, err));
	TRY(recognise(c, source, n, err));
	return differ(c, USER ",\"enable_thinking\":true,\"thinking\":true",
	              USER ",\"enable_thinking\":false,\"thinking\":false", &caps->thinking, err);
}
