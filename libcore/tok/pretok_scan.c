/* tok/pretok_scan.c - the scanners of pretok.h: each finds the matches of its stage's expression in
 * linear time.
 *
 * Expressions try their alternatives in order, so each scanner is a list of cases in that order.
 * If an expression would backtrack, a comment says where to. */
#include "tok/pretok.h"
#include "text/unicode.h"

static inline size_t peek(const struct pretok_it *it, size_t at, uint32_t *cp, uint32_t *set)
{
	if (at >= it->n) {
		*cp = UNI_BAD;
		*set = 0;
		return 0;
	}
	size_t k = unicode_next(it->s + at, it->n - at, cp);
	*set = unicode_set(*cp);
	return k;
}

static size_t skip_set(const struct pretok_it *it, size_t at, uint32_t want)
{
	uint32_t cp, set;
	size_t k;

	while ((k = peek(it, at, &cp, &set)) && set & want)
		at += k;
	return at;
}

static inline int is_eol(uint32_t cp) { return cp == '\n' || cp == '\r'; }

/* Match (?i:'s|'t|'re|'ve|'m|'ll|'d).  Returns the length, or 0.  U+017F folds to s. */
static size_t skip_contraction(const struct pretok_it *it, size_t at, unsigned fold)
{
	const unsigned char *s = (const unsigned char *)it->s + at;
	size_t n = it->n - at;

	if (n < 2 || s[0] != '\'')
		return 0;
	unsigned a = (unsigned)s[1] - 'A' < 26 ? s[1] | fold : s[1];
	if (a == 's' || a == 't' || a == 'm' || a == 'd')
		return 2;
	if (n < 3)
		return 0;
	if (fold && s[1] == 0xC5 && s[2] == 0xBF)
		return 3;
	unsigned b = (unsigned)s[2] - 'A' < 26 ? s[2] | fold : s[2];
	return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/* Match at white space: \s{512}(?!\S)|\s{256}(?!\S)|...|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1} */
static size_t skip_blanks(const struct pretok_it *it, size_t at)
{
	static const int step[] = { 512, 256, 128, 64, 32, 16, 8, 4, 2, 1 };
	size_t end[514], k, p = at; /* end[i]: offset after i code points */
	uint32_t cp, set;
	int n = 0;

	end[0] = at;
	while (n < 513 && (k = peek(it, p, &cp, &set)) && set & UNI_SPACE)
		end[++n] = p += k;
	for (int i = 0; i < 10; i++)
		if (n > step[i] || (n == step[i] && p == it->n))
			return end[step[i]];
	return end[1];
}

/* Match at white space: \s+(?!\S)|\s+, with PRETOK_EOL \s*[\r\n]+ first */
static size_t skip_white(struct pretok_it *it, size_t at, uint32_t flags)
{
	size_t last = at, eol = 0, p = at, k;
	uint32_t cp, set;

	if (at < it->run) /* inside a run that is already scanned */
		return skip_blanks(it, at);
	while ((k = peek(it, p, &cp, &set)) && set & UNI_SPACE) {
		last = p;
		p += k;
		if (is_eol(cp))
			eol = p;
	}
	if (eol && flags & PRETOK_EOL)
		return eol;
	if (flags & PRETOK_BLANKS) {
		it->run = p;
		return skip_blanks(it, at);
	}
	/* if text follows, the last space belongs to that text */
	return p == it->n || last == at ? p : last;
}

/* Match [\r\n]*, [\r\n/]* or [\r\n/]? after a run of symbols */
static size_t skip_tail(const struct pretok_it *it, size_t at, uint32_t flags)
{
	while (at < it->n) {
		unsigned char c = (unsigned char)it->s[at];
		if (!(flags & PRETOK_EOL && is_eol(c)) && !(flags & PRETOK_SLASH && c == '/'))
			break;
		at++;
		if (flags & PRETOK_ONE)
			break;
	}
	return at;
}

/* Match [^stop]+ and skip_tail; at: offset after the optional space */
static size_t skip_symbols(const struct pretok_it *it, size_t at, uint32_t stop, uint32_t flags)
{
	uint32_t cp, set;
	size_t k;

	while ((k = peek(it, at, &cp, &set)) && !(set & stop))
		at += k;
	return skip_tail(it, at, flags);
}

static size_t skip_numbers(const struct pretok_it *it, size_t at, uint32_t max)
{
	uint32_t cp, set;
	size_t k;

	for (uint32_t i = 0; (!max || i < max) && (k = peek(it, at, &cp, &set)) && set & UNI_N; i++)
		at += k;
	return at;
}

static int set_match(struct pretok_it *it, size_t from, size_t to)
{
	it->from = from;
	it->to = to;
	return 1;
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
int pretok_gpt2(const struct pretok_stage *st, struct pretok_it *it)
{
	size_t at = it->to, k;
	uint32_t cp, set;

	(void)st;
	if (at >= it->n)
		return 0;
	if ((k = skip_contraction(it, at, 0)))
		return set_match(it, at, at + k);
	size_t p = at + (it->s[at] == ' ');
	k = peek(it, p, &cp, &set);
	if (k && set & UNI_L)
		return set_match(it, at, skip_set(it, p + k, UNI_L));
	if (k && set & UNI_N)
		return set_match(it, at, skip_set(it, p + k, UNI_N));
	if (k && !(set & UNI_SPACE))
		return set_match(it, at, skip_symbols(it, p, UNI_SPACE | UNI_L | UNI_N, 0));
	return set_match(it, at, skip_white(it, at, 0));
}

/* Match the rest of (?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+ after its first letter */
static size_t skip_phrase(const struct pretok_it *it, size_t at)
{
	uint32_t cp, set;

	for (;;) {
		at = skip_set(it, at, UNI_L | UNI_M);
		if (at >= it->n || it->s[at] != ' ' || !peek(it, at + 1, &cp, &set) ||
		    !(set & UNI_L))
			return at;
		at++;
	}
}

/* C|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,max}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ and
 * variants of it.  C: a contraction */
int pretok_cl(const struct pretok_stage *st, struct pretok_it *it)
{
	uint32_t letter = st->flags & PRETOK_MARKS ? UNI_L | UNI_M : UNI_L, cp, set, next;
	size_t at = it->to, k, p;

	if (at >= it->n)
		return 0;
	if ((k = skip_contraction(it, at, 32)))
		return set_match(it, at, at + k);
	k = peek(it, at, &cp, &set);
	p = at;
	/* if the optional first code point is a mark, the match is the same whether or not the run
	 * includes it */
	if (!(set & (UNI_L | UNI_N)) && !is_eol(cp) && peek(it, at + k, &cp, &next) &&
	    next & letter)
		p = at + k;
	else
		next = set;
	if (next & letter)
		return set_match(it, at,
		                 st->flags & PRETOK_PHRASE ? skip_phrase(it, p)
		                                           : skip_set(it, p, letter));
	if (set & UNI_N)
		return set_match(it, at, skip_numbers(it, at, st->max));
	uint32_t stop = UNI_SPACE | letter | UNI_N;
	p = at + (it->s[at] == ' ');
	if (peek(it, p, &cp, &next) && !(next & stop))
		return set_match(it, at, skip_symbols(it, p, stop, st->flags));
	return set_match(it, at, skip_white(it, at, PRETOK_EOL | (st->flags & PRETOK_BLANKS)));
}

/* Match the cased word of pretok_o2 at p: return the end of U*W+ (low 1) or of U+W* (low 0); 0: no
 * match.  U* consumes its whole run and backtracks until W+ matches: the match ends after the last
 * W in the run of U, or after the run of W that follows it. */
static size_t match_cased(const struct pretok_it *it, size_t p, uint32_t no, int low)
{
	const uint32_t both = UNI_BIT(UNI_LM) | UNI_BIT(UNI_LO) | UNI_M;
	const uint32_t u = both | UNI_BIT(UNI_LU) | UNI_BIT(UNI_LT), w = both | UNI_BIT(UNI_LL);
	size_t start = p, k, last = 0;
	uint32_t cp, set;

	while ((k = peek(it, p, &cp, &set)) && set & u && !(set & no)) {
		p += k;
		if (set & w)
			last = p;
	}
	int goes_on = k && set & w && !(set & no); /* true at a lower-case letter */
	if (low && !goes_on)
		return last;
	if (!low && p == start)
		return 0;
	while (goes_on) {
		p += k;
		k = peek(it, p, &cp, &set);
		goes_on = k && set & w && !(set & no);
	}
	return p;
}

/* [^\r\n\p{L}\p{N}]?U*W+S|[^\r\n\p{L}\p{N}]?U+W*S|\p{N}{1,max}|
 * ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+ */
int pretok_o2(const struct pretok_stage *st, struct pretok_it *it)
{
	uint32_t no = st->flags & PRETOK_HAN ? UNI_HAN : 0, cp, set, next;
	size_t at = it->to, k, end = 0;

	if (at >= it->n)
		return 0;
	k = peek(it, at, &cp, &set);
	if (set & no)
		return set_match(it, at, skip_set(it, at, UNI_HAN));
	int lead = !(set & (UNI_L | UNI_N)) && !is_eol(cp);
	for (int low = 1; low >= 0 && !end; low--) {
		end = lead ? match_cased(it, at + k, no, low) : 0;
		if (!end)
			end = match_cased(it, at, no, low);
	}
	if (end)
		return set_match(
			it, at,
			end + (st->flags & PRETOK_SHORT ? skip_contraction(it, end, 32) : 0));
	if (set & UNI_N)
		return set_match(it, at, skip_numbers(it, at, st->max));
	uint32_t stop = UNI_SPACE | UNI_L | UNI_N;
	size_t p = at + (it->s[at] == ' ');
	if (peek(it, p, &cp, &next) && !(next & stop))
		return set_match(it, at, skip_symbols(it, p, stop, st->flags));
	if (set & UNI_SPACE)
		return set_match(it, at, skip_white(it, at, PRETOK_EOL));
	/* not reached: the cases cover every code point */
	return set_match(it, at, at + k);
}

static int is_ascii_punct(uint32_t c)
{
	return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
	       (c >= '{' && c <= '~');
}

/* [ASCII punctuation][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
 * ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ */
int pretok_ds3(const struct pretok_stage *st, struct pretok_it *it)
{
	uint32_t cp, set, next;
	size_t at = it->to, k, p;

	(void)st;
	for (; at < it->n; at += k) { /* skip numbers and controls, which may match nothing */
		k = peek(it, at, &cp, &set);
		if (is_ascii_punct(cp)) {
			for (p = at + 1; p < it->n && (((it->s[p] | 32) - 'a') & 0xff) < 26; p++)
				;
			if (p > at + 1)
				return set_match(it, at, p);
		}
		if (!(set & (UNI_L | UNI_P | UNI_S)) && !is_eol(cp) &&
		    peek(it, at + k, &cp, &next) && next & (UNI_L | UNI_M))
			return set_match(it, at, skip_set(it, at + k, UNI_L | UNI_M));
		if (set & (UNI_L | UNI_M))
			return set_match(it, at, skip_set(it, at, UNI_L | UNI_M));
		p = at + (it->s[at] == ' ');
		if (peek(it, p, &cp, &next) && next & (UNI_P | UNI_S))
			return set_match(it, at,
			                 skip_tail(it, skip_set(it, p, UNI_P | UNI_S), PRETOK_EOL));
		if (set & UNI_SPACE)
			return set_match(it, at, skip_white(it, at, PRETOK_EOL));
	}
	return 0;
}

int pretok_in_class(const struct pretok_class *c, uint32_t cp)
{
	int lo = 0, hi = c->n;

	if (unicode_set(cp) & c->set)
		return !c->negated;
	while (lo < hi) {
		int mid = (lo + hi) / 2;
		if (c->range[mid][1] < cp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo < c->n && c->range[lo][0] <= cp) != c->negated;
}

/* Return the bytes of the code point at `at` if it is in the stage's class, else 0. */
static inline size_t in_class_bytes(const struct pretok_stage *st, const struct pretok_it *it,
                                    size_t at)
{
	uint32_t cp;

	if (at >= it->n)
		return 0;
	unsigned char c = (unsigned char)it->s[at];
	if (c < 0x80)
		return it->ascii[c >> 6] >> (c & 63) & 1;
	size_t k = unicode_next(it->s + at, it->n - at, &cp);
	return pretok_in_class(st->of, cp) ? k : 0;
}

/* Match [class]{1,max}, with PRETOK_EXACT [class]{max}.  PRETOK_LEAD allows one white space before
 * it, PRETOK_LEAD_BLANK one U+0020 */
int pretok_runs(const struct pretok_stage *st, struct pretok_it *it)
{
	uint32_t cp, set;
	size_t at = it->to, k, p;

	for (; at < it->n; at += k) {
		uint32_t n = 0;
		int lead = 0;
		k = 1;
		if ((unsigned char)it->s[at] >= 0x80 || it->s[at] <= ' ') {
			k = peek(it, at, &cp, &set);
			lead = ((st->flags & PRETOK_LEAD && set & UNI_SPACE) ||
			        (st->flags & PRETOK_LEAD_BLANK && cp == ' ')) &&
			       in_class_bytes(st, it, at + k);
		}
		p = lead ? at + k : at;
		for (size_t m; (!st->max || n < st->max) && (m = in_class_bytes(st, it, p)); n++)
			p += m;
		if (n && !(st->flags & PRETOK_EXACT && n < st->max))
			return set_match(it, at, p);
	}
	return 0;
}

/* True for \w of Oniguruma, which runs the expressions of tokenizer.json: letters, marks,
 * connectors, circled letters, and numbers (of category No only those in Latin-1). */
static int is_oniguruma_word(uint32_t cp, uint32_t set)
{
	if (set & UNI_BIT(UNI_NO))
		return cp < 0x100;
	return set & (UNI_L | UNI_M | UNI_N | UNI_BIT(UNI_PC)) || (cp >= 0x24b6 && cp <= 0x24e9) ||
	       (cp >= 0x1f130 && cp <= 0x1f149) || (cp >= 0x1f150 && cp <= 0x1f169) ||
	       (cp >= 0x1f170 && cp <= 0x1f189);
}

/* Match groups of three digits, counted from the right end of a run: \d{1,3}(?=(?:\d{3})*(?!\d)),
 * with PRETOK_AT_END \b instead of (?!\d). */
int pretok_threes(const struct pretok_stage *st, struct pretok_it *it)
{
	uint32_t cp, set;
	size_t k, at = it->to;

	while (!it->left) { /* find and count the next run */
		while (at < it->n && !in_class_bytes(st, it, at))
			at += peek(it, at, &cp, &set);
		if (at >= it->n)
			return 0;
		size_t p = at, n = 0;
		for (; (k = in_class_bytes(st, it, p)); n++)
			p += k;
		if (st->flags & PRETOK_AT_END && peek(it, p, &cp, &set) &&
		    is_oniguruma_word(cp, set))
			at = p;
		else
			it->left = n;
	}
	size_t n = it->left % 3 ? it->left % 3 : 3, p = at;
	it->left -= n;
	while (n--)
		p += peek(it, p, &cp, &set);
	return set_match(it, at, p);
}

/* (?=(\d{3})+(?!\d)): cut before each multiple of three digits from the end of a run.  The matches
 * cover the whole piece. */
int pretok_cuts(const struct pretok_stage *st, struct pretok_it *it)
{
	uint32_t cp, set;
	size_t k, at = it->to, p = at;

	if (at >= it->n)
		return 0;
	do {
		k = peek(it, p, &cp, &set);
		if (p >= it->run && in_class_bytes(st, it, p)) { /* count a new run */
			size_t q = p, m;
			for (it->left = 0; (m = in_class_bytes(st, it, q)); it->left++)
				q += m;
			it->run = q;
			if (it->left && it->left % 3 == 0 && p > at)
				break;
		}
		p += k;
		if (p <= it->run && it->left && --it->left && it->left % 3 == 0)
			break;
	} while (p < it->n);
	return set_match(it, at, p);
}

/* Match \s+$ */
int pretok_tail(const struct pretok_stage *st, struct pretok_it *it)
{
	uint32_t cp, set;
	size_t k, start = 0;
	int in = 0;

	(void)st;
	if (it->to >= it->n || ((unsigned char)it->s[it->n - 1] < 0x80 && it->s[it->n - 1] > ' '))
		return 0;
	for (size_t at = it->to; (k = peek(it, at, &cp, &set)); at += k) {
		if (set & UNI_SPACE && !in)
			start = at;
		in = (set & UNI_SPACE) != 0;
	}
	return in ? set_match(it, start, it->n) : 0;
}
