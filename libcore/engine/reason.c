/* engine/reason.c - reasoning before a constrained answer: where it begins, and where it ends. */
#include "engine/reason.h"
#include "base/err.h"

#include <string.h>

int reason_init(struct reason *r, struct infer_str open, struct infer_str close, int32_t most,
                int32_t limit, infer_error *err)
{
	*r = (struct reason){ .most = most, .limit = limit, .over = !close.len };
	if (open.len > REASON_MARK || close.len > REASON_MARK)
		return err_set(err, INFER_EINVAL, "a tag of reasoning must have at most %d bytes",
		               REASON_MARK);
	if (open.len)
		memcpy(r->open, open.at, open.len);
	if (close.len)
		memcpy(r->close, close.at, close.len);
	r->n_open = (uint32_t)open.len;
	r->n_close = (uint32_t)close.len;
	return INFER_OK;
}

/* Return the number of continuation bytes of a UTF-8 character. */
static uint32_t continuation_bytes(uint8_t lead)
{
	return lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0;
}

static void take_byte(struct reason *r, char b)
{
	const int space = b == ' ' || b == '\n' || b == '\t' || b == '\r';

	if (r->opened < r->n_open) {
		if (!r->opened && space)
			return;
		r->over = b != r->open[r->opened++];
		return;
	}
	if (((uint8_t)b & 0xc0) != 0x80)
		r->pending = continuation_bytes((uint8_t)b);
	else
		r->pending -= r->pending > 0;
	if (r->n_tail == r->n_close)
		memmove(r->tail, r->tail + 1, --r->n_tail);
	r->tail[r->n_tail++] = b;
	r->over = r->n_tail == r->n_close && !memcmp(r->tail, r->close, r->n_close);
}

void reason_take(struct reason *r, const char *at, size_t n)
{
	r->n++;
	r->inside += r->opened == r->n_open;
	for (size_t i = 0; i < n && !r->over; i++)
		take_byte(r, at[i]);
}

int reason_is_long(const struct reason *r)
{
	return !r->over && r->opened == r->n_open && !r->pending &&
	       (r->limit ? r->inside >= r->limit - 1 : r->n >= r->most);
}
