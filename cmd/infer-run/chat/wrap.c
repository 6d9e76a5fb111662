/* infer-run/chat/wrap.c - word wrap for a terminal. */
#include "wrap.h"
#include "base/utf8.h"

#include <string.h>
#include <wchar.h>

enum { TAB = 8, CODE = 4, FENCE = 3 };
enum { JOINER = 0x200d, TONES = 0x1f3fb, TONES_END = 0x1f3ff };

void wrap_init(struct wrap *w)
{
	*w = (struct wrap){ .in_head = 1 };
	buf_init(&w->held, MEM_BASE);
}

void wrap_fini(struct wrap *w) { buf_fini(&w->held); }

int wrap_cells(uint32_t cp)
{
	int n = wcwidth((wchar_t)cp);

	return n < 0 ? 1 : n;
}

static void begin_line(struct wrap *w)
{
	buf_clear(&w->held);
	w->blanks = 0;
	w->cells = w->word = w->last = w->open = w->joined = 0;
	w->indent = w->n_marks = 0;
	w->mark = 0;
	w->in_head = 1;
	w->verbatim = w->fence != 0;
}

void wrap_begin(struct wrap *w)
{
	w->fence = 0;
	begin_line(w);
}

/* Return the column after `cells` cells. After a full line this is `cols`, not 0. */
static int column(int cells, int cols) { return cells && cols ? (cells - 1) % cols + 1 : cells; }

/* Move past a character. A terminal does not split a character of two cells, and a tab ends at the margin. */
static void advance(struct wrap *w, uint32_t cp, int cols)
{
	int col = column(w->cells, cols), n = cp == '\t' ? TAB - col % TAB : wrap_cells(cp);

	if (cp == '\t' && cols && n > cols - col)
		n = cols - col;
	else if (n == 2 && cols > 1 && col == cols - 1)
		n++;
	w->cells += n;
}

/* Write the text held back, unchanged. */
static void write_held(struct wrap *w, int cols, struct buf *out)
{
	uint32_t cp;

	for (size_t i = 0; i < w->held.len;) {
		int k = utf8_get(w->held.at + i, w->held.len - i, &cp);

		advance(w, cp, cols);
		i += k ? (size_t)k : 1;
	}
	buf_put(out, w->held.at, w->held.len);
	buf_clear(&w->held);
	w->blanks = 0;
	w->word = 0;
}

static int word_fits(const struct wrap *w, int cols)
{
	int col = column(w->cells, cols);

	for (size_t i = 0; i < w->blanks; i++)
		col += w->held.at[i] == '\t' ? TAB - col % TAB : 1;
	return !cols || w->verbatim || col + w->word <= cols;
}

/* Move the word that is held back to the next line, and drop the blanks before it. */
static void break_line(struct wrap *w, int cols, struct buf *out)
{
	if (w->cells)
		buf_putc(out, '\n');
	w->cells = 0;
	memmove(w->held.at, w->held.at + w->blanks, w->held.len - w->blanks);
	w->held.len -= w->blanks;
	write_held(w, cols, out);
}

static void end_word(struct wrap *w, int cols, struct buf *out)
{
	if (w->held.len > w->blanks) {
		if (word_fits(w, cols))
			write_held(w, cols, out);
		else
			break_line(w, cols, out);
	}
	w->open = w->joined = w->last = 0;
}

void wrap_flush(struct wrap *w, int cols, struct buf *out)
{
	end_word(w, cols, out);
	if (word_fits(w, cols))
		write_held(w, cols, out);
	buf_clear(&w->held);
	w->blanks = 0;
}

static void newline(struct wrap *w, int cols, struct buf *out)
{
	int is_fence = w->n_marks >= FENCE && w->indent < CODE;

	wrap_flush(w, cols, out);
	buf_putc(out, '\n');
	if (is_fence && !w->fence) {
		w->fence = w->mark;
		w->n_fence = w->n_marks;
	} else if (is_fence && w->fence == w->mark && w->n_marks >= w->n_fence) {
		w->fence = 0;
	}
	begin_line(w);
}

/* Read a character of the start of a line, which decides if the line is code. */
static void read_head(struct wrap *w, uint32_t cp)
{
	if (!w->in_head) {
		if (w->mark == '`' && cp == '`') /* inline code, not a fence */
			w->n_marks = 0;
		return;
	}
	if (!w->n_marks && cp == ' ') {
		w->indent++;
	} else if (!w->n_marks && cp == '\t') {
		w->indent += TAB;
	} else if ((cp == '`' || cp == '~') && (!w->n_marks || w->mark == (char)cp)) {
		w->mark = (char)cp;
		w->n_marks++;
	} else {
		w->in_head = 0;
	}
	w->verbatim |= w->indent >= CODE || w->n_marks >= FENCE;
}

static int is_one_of(uint32_t cp, const uint32_t *list, size_t n)
{
	while (n--)
		if (cp == list[n])
			return 1;
	return 0;
}

/* True if a line must not begin with the character: closing punctuation, or a combining character. */
static int no_line_start(uint32_t cp)
{
	static const uint32_t closing[] = {
		'!',    ')',    ',',    '.',    ':',    ';',    '?',    ']',
		'}',    0x2019, 0x201d, 0x2026, 0x3001, 0x3002, 0x3009, 0x300b,
		0x300d, 0x300f, 0x3011, 0x3015, 0x3017, 0x30fc, 0xff01, 0xff09,
		0xff0c, 0xff0e, 0xff1a, 0xff1b, 0xff1f, 0xff3d, 0xff5d, 0xff5e,
	};

	return !wrap_cells(cp) || (cp >= TONES && cp <= TONES_END) ||
	       is_one_of(cp, closing, sizeof closing / sizeof *closing);
}

/* True if a line must not end with the character. */
static int no_line_end(uint32_t cp)
{
	static const uint32_t opening[] = {
		'(',    '[',    '{',    0x2018, 0x201c, 0x3008, 0x300a, 0x300c,
		0x300e, 0x3010, 0x3014, 0x3016, 0xff08, 0xff3b, 0xff5b, JOINER,
	};

	return is_one_of(cp, opening, sizeof opening / sizeof *opening);
}

static void put_char(struct wrap *w, const char *at, size_t n, uint32_t cp, int cols,
                     struct buf *out)
{
	int cells = wrap_cells(cp), is_blank = cp == ' ' || cp == '\t';

	read_head(w, cp);
	if (is_blank || (!w->joined && !no_line_start(cp) && (cells == 2 || w->last == 2)))
		end_word(w, cols, out);
	buf_put(&w->held, at, n);
	out->bad |= w->held.bad;
	if (is_blank) {
		w->blanks = w->held.len;
		return;
	}
	w->word += cells;
	w->last = cells ? cells : w->last;
	w->joined = no_line_end(cp);
	if (w->open || w->verbatim || !cols || (!w->cells && !w->blanks)) {
		write_held(w, cols, out);
		w->open = 1;
	} else if (!word_fits(w, cols)) {
		break_line(w, cols, out);
		w->open = 1;
	}
}

void wrap_put(struct wrap *w, const char *at, size_t n, int cols, struct buf *out)
{
	while (n && !out->bad) {
		uint32_t cp = 0xfffd;
		int k = utf8_get(at, n, &cp);
		size_t used = k ? (size_t)k : utf8_bad(at, n);

		if (cp == '\n')
			newline(w, cols, out);
		else
			put_char(w, at, used, cp, cols, out);
		at += used;
		n -= used;
	}
}
