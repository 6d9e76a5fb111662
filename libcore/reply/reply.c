/* reply/reply.c - parsing an answer: text, and the marks between pieces of text. */
#include "reply/reply.h"
#include "base/err.h"
#include "chat/chat.h"

#include <string.h>

/* ---- bytes that may begin a mark ---- */

static void may_begin(struct infer_reply *r, const char *s)
{
	if (s)
		r->first[(unsigned char)s[*s == *DIALECT_PEEK]] = 1;
}

static void set_first(struct infer_reply *r)
{
	const struct dialect *f = r->f;

	for (size_t i = 0; i < sizeof f->head / sizeof *f->head; i++)
		may_begin(r, f->head[i].as);
	for (size_t i = 0; i < sizeof f->close / sizeof *f->close; i++)
		may_begin(r, f->close[i]);
	for (size_t i = 0; i < sizeof f->drop / sizeof *f->drop; i++)
		may_begin(r, f->drop[i]);
	may_begin(r, r->t->open);
	may_begin(r, r->t->close);
	may_begin(r, r->t->stray);
	may_begin(r, f->messages ? "<" : NULL);
	may_begin(r, r->t->also);
	may_begin(r, r->flags & INFER_REPLY_JSON ? "`" : NULL);
}

/* ---- text ---- */

/* Append input [from, to) to a part, without bytes that come from the prompt. */
static void deliver(struct infer_reply *r, int part, size_t from, size_t to)
{
	int apart = part == PART_REASONING && !(r->flags & INFER_REPLY_INLINE);

	if (from < r->begun)
		from = r->begun;
	if (from >= to || part == PART_NOBODY)
		return;
	if (apart && r->again) /* separate pieces of reasoning are put on separate lines */
		buf_putc(&r->reasoning, '\n');
	r->again &= !apart;
	buf_put(apart ? &r->reasoning : &r->content, r->in.at + from, to - from);
}

/* Append the text before `solid` to the current part. */
static void deliver_solid(struct infer_reply *r)
{
	if (r->base < r->solid)
		deliver(r, r->part, r->base, r->solid);
	r->base = r->solid > r->base ? r->solid : r->base;
}

/* Accept the byte before `at` as text. */
static void accept_text(struct infer_reply *r)
{
	if (r->trim)
		r->base = r->at - 1;
	r->solid = r->at;
	r->trim = r->after = r->list = 0;
	if (r->part == PART_CONTENT && r->at > r->begun)
		r->fresh = 0;
}

/* Continue after a mark that ends at `end`.  shown: the mark stays in the content, as with inline
 * reasoning. */
static void skip_mark(struct infer_reply *r, size_t end, int shown)
{
	if (shown)
		deliver(r, PART_CONTENT, r->base, end);
	r->base = r->solid = r->at = end;
	r->trim = !shown;
}

/* Change the part, remove the mark, or begin the call. */
static void apply_mark(struct infer_reply *r, const struct reply_mark *m)
{
	int inside = r->flags & INFER_REPLY_INLINE && !(r->t->flags & DIALECT_HIDE);

	deliver_solid(r);
	if (m->kind == MARK_OPEN || (m->kind == MARK_PART && m->part == PART_REASONING))
		r->again = r->reasoning.len > 0;
	switch (m->kind) {
	case MARK_OPEN:
		if (r->t->flags & DIALECT_KEEP && !inside)
			deliver(r, PART_REASONING, r->at, m->end);
		skip_mark(r, m->end, inside);
		r->trim &= !(r->t->flags & DIALECT_KEEP);
		r->part = PART_REASONING;
		break;
	case MARK_CLOSE:
		skip_mark(r, m->end, inside && r->part == PART_REASONING);
		r->part = PART_CONTENT;
		r->thought = 1;
		r->cut_short = 0;
		break;
	case MARK_PART:
		skip_mark(r, m->end, inside && m->part == PART_REASONING);
		r->part = m->part;
		break;
	case MARK_FENCE:
		r->fence = 1;
		skip_mark(r, m->end, 0);
		break;
	case MARK_DROP:
	case MARK_AFTER:
		skip_mark(r, m->end, 0);
		break;
	case MARK_CALL:
		r->cut_short |= r->part == PART_REASONING && !r->f->messages;
		reply_call_begin(r, m);
		break;
	}
}

/* Read text up to the next mark.  Returns 1 if there was one, 0 if more bytes are needed. */
static int text_step(struct infer_reply *r)
{
	struct reply_mark m;

	while (r->at < r->in.len) {
		unsigned char c = (unsigned char)r->in.at[r->at];
		if (reply_space(c)) {
			r->at++;
			continue;
		}
		int rc =
			r->first[c] || ((r->list || r->after) && (c == ',' || c == ']' || c == '}'))
				? reply_mark_at(r, r->at, &m)
				: P_NO;
		if (rc == P_NEED)
			break;
		if (rc == P_OK) {
			apply_mark(r, &m);
			return 1;
		}
		r->at++;
		accept_text(r);
	}
	deliver_solid(r);
	return 0;
}

/* ---- bytes in ---- */

/* Remove the parsed bytes from the input, once they are half of it: each byte is moved at most
 * once on average. */
static void compact_input(struct infer_reply *r)
{
	size_t n = r->base;

	if (n < r->in.len - n)
		return;
	memmove(r->in.at, r->in.at + n, r->in.len - n);
	r->in.len -= n;
	r->base = 0;
	r->at -= n;
	r->solid = r->solid > n ? r->solid - n : 0;
	r->begun = r->begun > n ? r->begun - n : 0;
}

static int parse_input(struct infer_reply *r, infer_error *err)
{
	while (!r->rc && (r->reader ? r->reader->step(r) : text_step(r)))
		;
	if (r->in.bad || r->content.bad || r->reasoning.bad ||
	    (r->n_calls && r->calls[r->n_calls - 1].args.bad))
		r->rc = INFER_ENOMEM;
	if (r->rc)
		return err_nomem(err);
	if (r->in.len)
		compact_input(r);
	return INFER_OK;
}

int infer_reply_put(infer_reply *r, const char *bytes, size_t n, infer_error *err)
{
	must(!r->over);
	buf_put(&r->in, bytes, n);
	return parse_input(r, err);
}

int infer_reply_end(infer_reply *r, infer_error *err)
{
	if (r->over)
		return r->rc ? err_nomem(err) : INFER_OK;
	if (!r->reader) {
		if (r->after && reply_tag_begun(r, r->at)) /* truncated, and not text */
			r->in.len = r->at;
		r->over = 1;
		TRY(parse_input(r, err));
	}
	r->over = 1;
	if (r->reader)
		r->reader->end(r);
	else if (!r->trim)
		deliver(r, r->part, r->base, r->in.len);
	r->base = r->solid = r->at = r->in.len;
	return parse_input(r, err);
}

/* ---- begin and end ---- */

/* Set the initial state from the end of the prompt, which may have opened the reasoning, and may
 * contain the beginning of the answer's format. */
static void read_prompt(struct infer_reply *r, const char *prompt, size_t n)
{
	size_t open = strlen(r->t->open), end = n, begun = r->f->begun ? strlen(r->f->begun) : 0;

	if (begun && n >= begun && !memcmp(prompt + n - begun, r->f->begun, begun)) {
		buf_put(&r->in, r->f->begun, begun);
		r->begun = begun;
	}
	while (end && reply_space(prompt[end - 1]))
		end--;
	if (r->f->messages || end < open || memcmp(prompt + end - open, r->t->open, open) != 0)
		return;
	if (r->flags & INFER_REPLY_INLINE && !(r->t->flags & DIALECT_HIDE))
		buf_put(&r->content, prompt + end - open, n - end + open);
	else if (r->t->flags & DIALECT_KEEP)
		buf_put(&r->reasoning, prompt + end - open, n - end + open);
	r->part = PART_REASONING;
	r->trim = !(r->flags & INFER_REPLY_INLINE) && !(r->t->flags & DIALECT_KEEP);
}

int infer_reply_new(infer_reply **out, const infer_chat *chat, const struct infer_reply_options *o,
                    infer_error *err)
{
	static const struct infer_tools none;
	infer_reply *r = mem_zalloc(MEM_REPLY, 1, sizeof *r);
	int rc = INFER_OK;

	*out = NULL;
	if (!r)
		return err_nomem(err);
	r->f = chat->calls;
	r->t = chat->think;
	r->flags = o ? o->flags : 0;
	r->fresh = 1;
	buf_init(&r->in, MEM_REPLY);
	buf_init(&r->content, MEM_REPLY);
	buf_init(&r->reasoning, MEM_REPLY);
	buf_init(&r->value_end, MEM_REPLY);
	set_first(r);
	r->tools = o && o->tools ? o->tools : &none;
	if (o && o->prompt)
		read_prompt(r, o->prompt, o->prompt_n);
	if ((r->in.bad || r->content.bad || r->reasoning.bad))
		rc = err_nomem(err);
	if (rc)
		infer_reply_free(r);
	else
		*out = r;
	return rc;
}

void infer_reply_free(infer_reply *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_calls; i++) {
		buf_fini(&r->calls[i].id);
		buf_fini(&r->calls[i].args);
	}
	mem_free(r->calls);
	buf_fini(&r->in);
	buf_fini(&r->content);
	buf_fini(&r->reasoning);
	buf_fini(&r->value_end);
	mem_free(r);
}

static struct infer_str buf_str(const struct buf *b)
{
	return (struct infer_str){ b->at ? b->at : "", b->len };
}

void infer_reply_get(const infer_reply *r, struct infer_reply_parts *parts)
{
	*parts = (struct infer_reply_parts){ buf_str(&r->content), buf_str(&r->reasoning),
		                             r->n_calls };
}

void infer_reply_call(const infer_reply *r, size_t i, struct infer_reply_call *call)
{
	const struct reply_call *c = &r->calls[i];
	int last = i + 1 == r->n_calls && !r->over;

	must(i < r->n_calls);
	*call = (struct infer_reply_call){
		.name = { r->tools->at[c->tool].name, r->tools->at[c->tool].len },
		.id = buf_str(&c->id),
		.arguments = buf_str(&c->args),
		.whole = c->whole,
		/* the object around the arguments may have the id after them */
		.settled = c->whole || c->id.len || !last || !r->enveloped,
	};
}

void infer_reply_format(const infer_chat *chat, const char **calls, const char **reasoning)
{
	*calls = chat->calls->name;
	*reasoning = !chat->calls->messages            ? chat->think->open
	             : chat->calls->messages->channels ? "<|channel|>analysis"
	                                               : chat->calls->messages->reasoning;
}
