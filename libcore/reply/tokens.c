/* reply/tokens.c - control tokens in tags, and what the end of a prompt has opened */
#include "chat/chat.h"
#include "reply/reply.h"

#include <string.h>

/* True if piece is part of one of the strings. */
static int is_part_of(const char *const *strings, size_t n, const char *piece, size_t len)
{
	for (size_t i = 0; i < n && strings[i]; i++)
		if (memmem(strings[i], strlen(strings[i]), piece, len))
			return 1;
	return 0;
}

static int is_of_messages(const struct dialect_messages *m, const char *piece, size_t len)
{
	const char *const texts[] = { m->start, m->reasoning, m->finished, m->final,
		                      "<|constrain|>" };

	return is_part_of(texts, m->channels ? 5 : 4, piece, len) ||
	       is_part_of(m->ends, MESSAGE_ENDS, piece, len);
}

static int is_tag(const struct infer_chat *chat, const char *piece, size_t len)
{
	const struct dialect *f = chat->calls;
	const char *const think[] = { chat->think->open, chat->think->close, chat->think->also };

	for (size_t i = 0; i < sizeof f->head / sizeof *f->head && f->head[i].as; i++)
		if (is_part_of(&f->head[i].as, 1, piece, len))
			return 1;
	return is_part_of(think, 3, piece, len) || is_part_of(f->param, 2, piece, len) ||
	       is_part_of(f->close, sizeof f->close / sizeof *f->close, piece, len) ||
	       is_part_of(f->drop, sizeof f->drop / sizeof *f->drop, piece, len) ||
	       is_part_of(&f->param_end, 1, piece, len) ||
	       is_part_of(&f->tags_end, 1, piece, len) ||
	       (f->messages && is_of_messages(f->messages, piece, len));
}

int infer_reply_special(const infer_chat *chat, const infer_tokenizer *t)
{
	enum { CONTROL = 3, SHORTEST = 3 };
	int32_t n = infer_tokenizer_count(t);
	struct infer_token_info info;

	for (int32_t id = 0; id < n; id++)
		if (!infer_token_info(t, id, &info, NULL) && info.kind == CONTROL && !info.eog &&
		    info.piece.len >= SHORTEST && is_tag(chat, info.piece.at, info.piece.len))
			return 1;
	return 0;
}

size_t infer_reply_tail(const infer_tokenizer *t, const int32_t *ids, size_t n,
                        char text[INFER_REPLY_TAIL])
{
	size_t from = INFER_REPLY_TAIL, len;
	const char *bytes;

	while (n && !infer_token_bytes(t, ids[n - 1], INFER_DECODE_SPECIAL, &bytes, &len, NULL) &&
	       len <= from) {
		n--;
		from -= len;
		memcpy(text + from, bytes, len);
	}
	memmove(text, text + from, INFER_REPLY_TAIL - from);
	return INFER_REPLY_TAIL - from;
}

static int ends_with(const char *text, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n >= k && !memcmp(text + n - k, end, k);
}

static struct infer_str static_str(const char *s) { return (struct infer_str){ s, strlen(s) }; }

struct infer_str infer_reply_until(const infer_chat *chat, const char *prompt, size_t n)
{
	const struct dialect_messages *m = chat->calls->messages;

	if (m)
		return static_str(ends_with(prompt, n, m->final) ? "" : m->final);
	while (n && reply_space((unsigned char)prompt[n - 1]))
		n--;
	return static_str(!ends_with(prompt, n, chat->think->open) ? ""
	                  : chat->think->also                      ? chat->think->also
	                                                           : chat->think->close);
}

struct infer_str infer_reply_reasoning(const infer_chat *chat, const char *prompt, size_t n,
                                       struct infer_str *open)
{
	const struct dialect_think *t = chat->think;

	*open = static_str("");
	while (n && reply_space((unsigned char)prompt[n - 1]))
		n--;
	if (chat->calls->messages) {
		/* skip the white space before the header */
		*open = static_str(chat->calls->messages->reasoning +
		                   reply_space((unsigned char)*chat->calls->messages->reasoning));
		return static_str(chat->calls->messages->finished);
	}
	if (!t->close || chat->calls->begun || ends_with(prompt, n, t->close))
		return static_str("");
	if (!ends_with(prompt, n, t->open))
		*open = static_str(t->open);
	return static_str(t->close);
}
