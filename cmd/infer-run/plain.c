/* infer-run/plain.c - answers as text. */
#include "plain.h"
#include "base/utf8.h"

#include <string.h>

void plain_put(struct buf *to, const char *at, size_t n)
{
	while (n) {
		size_t good = utf8_check(at, n);

		buf_put(to, at, good);
		if (good < n) {
			buf_puts(to, "\xef\xbf\xbd");
			good += utf8_bad(at + good, n - good);
		}
		at += good;
		n -= good;
	}
}

void plain_calls(struct buf *to, const infer_reply *r, int follows)
{
	struct infer_reply_parts p = { .n_calls = 0 };

	if (r)
		infer_reply_get(r, &p);
	for (size_t i = 0; i < p.n_calls; i++) {
		struct infer_reply_call c;

		infer_reply_call(r, i, &c);
		if (!c.arguments.len) /* cut before the arguments, which are never empty */
			continue;
		if (follows || to->len)
			buf_putc(to, '\n');
		plain_put(to, c.name.at, c.name.len);
		buf_putc(to, ' ');
		plain_put(to, c.arguments.at, c.arguments.len);
	}
}

void plain_line(struct buf *to, struct buf *scratch, const struct infer_choice *c)
{
	static const char special[] = "\n\r\\", spelled[] = "nr\\";

	buf_clear(scratch);
	plain_put(scratch, c->text.at, c->text.len);
	plain_calls(scratch, c->reply, 0);
	for (size_t i = 0; i < scratch->len; i++) {
		const char *s = strchr(special, scratch->at[i]);

		if (s && *s) {
			buf_putc(to, '\\');
			buf_putc(to, spelled[s - special]);
		} else {
			buf_putc(to, scratch->at[i]);
		}
	}
	buf_putc(to, '\n');
	to->bad |= scratch->bad;
}
