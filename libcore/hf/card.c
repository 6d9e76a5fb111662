/* hf/card.c - the model card, README.md: values between the lines "---" at its top, which are YAML.
 * The model does not depend on it: a file or value that cannot be read is treated as missing.
 * https://github.com/huggingface/hub-docs/blob/main/modelcard.md */
#include "base/os.h"
#include "hf/hf.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { CARD_MAX_BYTES = 64 << 10, VALUE_MAX_BYTES = 128 };

/* Remove the first line from *s and return it without the newline. */
static struct infer_str next_line(struct infer_str *s)
{
	const char *end = s->len ? memchr(s->at, '\n', s->len) : NULL;
	struct infer_str line = { s->at, end ? (uint64_t)(end - s->at) : s->len };
	uint64_t used = line.len + (end != NULL);

	if (used) /* s->at may be NULL if it is empty */
		s->at += used;
	s->len -= used;
	if (line.len && line.at[line.len - 1] == '\r')
		line.len--;
	return line;
}

static int equals_text(struct infer_str s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

/* Return a plain or quoted scalar on one line, without its comment; empty for other values. */
static struct infer_str parse_scalar(struct infer_str s)
{
	static const struct infer_str none = { "", 0 };

	while (s.len && (*s.at == ' ' || *s.at == '\t')) {
		s.at++;
		s.len--;
	}
	if (s.len && (*s.at == '"' || *s.at == '\'')) {
		const char *end = memchr(s.at + 1, *s.at, s.len - 1);
		s = end ? (struct infer_str){ s.at + 1, (uint64_t)(end - s.at - 1) } : none;
	} else if (s.len && strchr("[]{}|>&*!%@`#", *s.at)) {
		return none;
	}
	for (uint64_t i = 1; i < s.len; i++)
		if (s.at[i] == '#' && s.at[i - 1] == ' ')
			s.len = i - 1;
	while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
		s.len--;
	for (uint64_t i = 0; i < s.len; i++)
		if (s.at[i] < ' ' || s.at[i] > '~' || s.at[i] == '\\')
			return none;
	return s.len > VALUE_MAX_BYTES ? none : s;
}

/* Append the elements of a list, "- x" on each line, with commas between. */
static void put_list(struct buf *out, struct infer_str rest)
{
	while (rest.len) {
		struct infer_str line = next_line(&rest);

		while (line.len && *line.at == ' ') {
			line.at++;
			line.len--;
		}
		if (line.len < 2 || line.at[0] != '-' || line.at[1] != ' ')
			return;
		struct infer_str v = parse_scalar((struct infer_str){ line.at + 1, line.len - 1 });
		if (v.len && out->len)
			buf_putc(out, ',');
		buf_put(out, v.at, v.len);
	}
}

void hf_card_read(struct hf_dir *d, struct hf_text *card)
{
	char *at = arena_raw(&d->brief, CARD_MAX_BYTES), path[PATH_MAX];
	struct os_stat st;
	size_t n;

	*card = (struct hf_text){ .name = "README.md" };
	if (!at || snprintf(path, sizeof path, "%s/README.md", d->path) >= (int)sizeof path ||
	    os_look(&st, path, at, CARD_MAX_BYTES, &n, NULL) || st.kind != OS_REGULAR)
		return;
	card->at = at;
	card->n = n;
}

void hf_card_value(const struct hf_text *card, const char *key, struct buf *out)
{
	struct infer_str rest = { card->at, card->at ? card->n : 0 };
	size_t n = strlen(key);

	if (!equals_text(next_line(&rest), "---"))
		return;
	while (rest.len) {
		struct infer_str line = next_line(&rest);

		if (equals_text(line, "---"))
			return;
		if (line.len <= n || memcmp(line.at, key, n) != 0 || line.at[n] != ':')
			continue;
		struct infer_str v =
			parse_scalar((struct infer_str){ line.at + n + 1, line.len - n - 1 });
		if (v.len)
			buf_put(out, v.at, v.len);
		else if (line.len == n + 1)
			put_list(out, rest);
		return;
	}
}
