/* reply/nested.c - convert nested tags to JSON: a tag for each member of an object, with the
 * member's name, and <item> for each element of an array.  Each tag begins with the text `nest` of
 * the dialect. The schema decides the type of a value without tags. */
#include "reply/reply.h"

#include <string.h>

enum { DEEPEST = 60, NAME_MOST = 128 };

struct nested {
	struct infer_reply *r;
	const struct chat_tool *tool;
	struct buf *to;
	const char *at, *end; /* the rest of the text */
	int depth;
};

static int starts(const struct nested *w, const char *s, size_t n)
{
	return (size_t)(w->end - w->at) >= n && !memcmp(w->at, s, n);
}

/* Read the opening tag at `at`: set its name, move `at` after it.  Returns 0 if there is none. */
static int open_tag(struct nested *w, const char **name, size_t *n)
{
	const char *nest = w->r->f->nest, *from, *stop;
	const size_t k = strlen(nest);

	if (!starts(w, nest, k) || w->end - w->at < (ptrdiff_t)k + 2 || w->at[k] != '<' ||
	    w->at[k + 1] == '/')
		return 0;
	from = w->at + k + 1;
	stop = memchr(from, '>', (size_t)(w->end - from));
	if (!stop || stop == from || stop - from > NAME_MOST)
		return 0;
	*name = from;
	*n = (size_t)(stop - from);
	w->at = stop + 1;
	return 1;
}

/* Write the closing tag of a name to `tag`; returns its length. */
static size_t closing_tag(const struct nested *w, char tag[NAME_MOST + 64], const char *name,
                          size_t n)
{
	const size_t k = strlen(w->r->f->nest);

	memcpy(tag, w->r->f->nest, k);
	memcpy(tag + k, "</", 2);
	memcpy(tag + k + 2, name, n);
	tag[k + 2 + n] = '>';
	return k + n + 3;
}

static void skip_blanks(struct nested *w)
{
	while (w->at < w->end && reply_space(*w->at))
		w->at++;
}

static int write_value(struct nested *w, const struct json *schema, const char *tag, size_t tag_n);

/* Read the value and the closing tag of an element or a member.  Returns 0 if malformed. */
static int write_inside(struct nested *w, const struct json *schema, const char *name, size_t n)
{
	char tag[NAME_MOST + 64];
	const size_t tag_n = closing_tag(w, tag, name, n);

	if (!write_value(w, schema, tag, tag_n) || !starts(w, tag, tag_n))
		return 0;
	w->at += tag_n;
	skip_blanks(w);
	return 1;
}

static int is_item(const char *name, size_t n) { return n == 4 && !memcmp(name, "item", 4); }

/* Write a sequence of tags as an array or an object.  Returns 0 if malformed. */
static int write_tags(struct nested *w, const struct json *schema)
{
	const char *name;
	int array = 0, first = 1;
	size_t n;

	if (w->depth++ == DEEPEST)
		return 0;
	while (open_tag(w, &name, &n)) {
		if (first)
			array = is_item(name, n) && !chat_tools_property(w->tool, schema, name, n);
		if (array && !is_item(name, n))
			return 0;
		buf_puts(w->to, !first ? ", " : array ? "[" : "{");
		first = 0;
		if (!array) {
			buf_putc(w->to, '"');
			reply_escape(w->to, name, n);
			buf_puts(w->to, "\": ");
		}
		if (!write_inside(w,
		                  array ? chat_tools_items(w->tool, schema)
		                        : chat_tools_property(w->tool, schema, name, n),
		                  name, n))
			return 0;
	}
	buf_putc(w->to, array ? ']' : '}');
	w->depth--;
	return 1;
}

/* Write the value before the closing tag, or the whole text if tag_n is 0.  Returns 0 if
 * malformed. */
static int write_value(struct nested *w, const struct json *schema, const char *tag, size_t tag_n)
{
	const int kinds = chat_tools_kinds(w->tool, schema);
	const char *from = w->at, *stop = w->end, *name;
	size_t n;

	if (!(kinds & VALUE_TEXT)) {
		skip_blanks(w);
		const char *at = w->at;
		if (open_tag(w, &name, &n)) {
			w->at = at;
			return write_tags(w, schema);
		}
		w->at = from;
	}
	if (tag_n)
		stop = memmem(w->at, (size_t)(w->end - w->at), tag, tag_n);
	if (!stop)
		return 0;
	w->at = stop;
	for (; from < stop && !(kinds & VALUE_TEXT) && reply_space(*from); from++)
		;
	if (from == stop && !(kinds & VALUE_TEXT) && chat_tools_admits(w->tool, schema, "array"))
		buf_puts(w->to, "[]");
	else if (from == stop && !(kinds & VALUE_TEXT) &&
	         chat_tools_admits(w->tool, schema, "object"))
		buf_puts(w->to, "{}");
	else
		reply_scalar(w->r, w->to, kinds, from, (size_t)(stop - from));
	return 1;
}

int reply_nested(struct infer_reply *r, struct buf *to, const char *s, size_t n)
{
	struct buf out;
	struct nested w = { .r = r,
		            .tool = &r->tools->at[r->calls[r->n_calls - 1].tool],
		            .to = &out,
		            .at = s,
		            .end = s + n };
	int good;

	buf_init(&out, MEM_REPLY);
	good = write_value(&w, r->s.tags.schema, NULL, 0);
	skip_blanks(&w);
	good = good && w.at == w.end;
	if (good)
		buf_put(to, out.at, out.len);
	to->bad |= out.bad;
	buf_fini(&out);
	return good;
}
