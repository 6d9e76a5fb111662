"""The text that the built-in model is trained on: all of it is made here, from our own sentences, and from the NAME lines of man/*.1,
so that the programs it names are the ones there are.

story(rng, combo) and answers: see document() at the end.  A combo is (hero, place, object); held_out(combo) is true for one
combination in ten, and those never enter the training text.  What people ask besides is in demo_other.py; the answer to all of it is
HONEST."""
import hashlib, pathlib
import demo_other, demo_tools

HEROES = """fox bear rabbit mouse owl hedgehog turtle squirrel badger otter goat duck frog crow pony kitten puppy beaver
robot baker sailor gardener painter farmer shepherd clockmaker tailor miller fisherman singer postman girl boy
grandmother grandfather king queen knight wizard giant""".split()
PLACES = """lighthouse forest mountain river village castle garden harbour market bridge windmill library island cave
meadow lake orchard tower bakery barn beach valley station school attic workshop mill swamp desert bay
cottage farm theatre museum well crossroads hill greenhouse shipyard ferry""".split()
OBJECTS = """key lamp map bell book kite boat drum clock ring hat coin flute basket ladder mirror blanket violin
letter spoon candle compass umbrella shell feather apple cake stone rope bucket wheel scarf whistle puzzle
telescope teapot button lantern pencil seed""".split()
# things that are asked for now and then and have no combinations held out
MORE = ["""dragon phoenix dinosaur elephant tiger lion wolf whale snake spider monkey princess prince pirate witch ghost monster astronaut
teacher doctor nurse soldier detective cat dog horse cow sheep pig penguin parrot squid butterfly snowman mermaid dwarf elf fairy""".split(),
        """volcano ocean city planet house jungle hospital hotel palace farmyard zoo park street factory pond waterfall field road kitchen
submarine spaceship mountaintop temple circus moon cellar wood iceberg laboratory bookshop""".split(),
        """sword car phone computer guitar piano ball crown candy pizza camera bicycle train rocket flower tree star shoe chair table
window diamond egg bottle sandwich potion cup dress painting radio trumpet magnet balloon""".split()]
SHE = "Mina Lila Nora Ada Ruby Tess Ivy Clara Juno Wren Dora Olive Rosa Mabel Greta".split()
HE = "Pim Otto Finn Hugo Theo Max Leo Oscar Bruno Jasper Felix Emil Arlo Ned Milo".split()
SHES = "girl grandmother queen".split()
HES = "boy grandfather king wizard fisherman postman knight".split()
MOODS = "small quiet brave curious kind cheerful patient shy clever gentle".split()
FRIENDS = "an old crow|a young hare|a friendly snail|a tired traveller|a little bird|a kind neighbour|a busy bee|a wise toad".split("|")
WEATHER = "sunny rainy windy foggy snowy cold warm bright grey stormy".split()


def a(word):
    return ("an " if word[0] in "aeiou" else "a ") + word


def held_out(combo):
    return hashlib.sha256(" ".join(combo).encode()).digest()[0] < 26


def combo(rng, held=False):
    while True:
        c = (rng.choice(HEROES), rng.choice(PLACES), rng.choice(OBJECTS))
        if held_out(c) == held:
            return c


def asked(rng, held=False):
    """A combination that somebody asks for: now and then there are other things in it."""
    c = combo(rng, held)
    return c if held or rng.random() < 0.85 else tuple(rng.choice(more) if rng.random() < 0.5 else w for w, more in zip(c, MORE))


def beats_lost(p):
    return [["{One} {weather} morning {n} found {ao} near the {p}.", "One day {n} walked to the {p} and saw {ao} on the ground."],
            ["It was not {his} own, and {n} wondered who had lost it.", "\"Somebody must miss this {o},\" {n} thought."],
            ["{He} asked {f}, but nobody knew.", "{He} showed it to {f}, who only shook a sleepy head."],
            ["So {n} sat down by the {p} and waited with the {o} until evening.", "So {n} put up a sign at the {p}: \"Found: one {o}.\""],
            ["At last a child came running and cried, \"My {o}! You found my {o}!\"", "Just before dark an old woman came by, and her eyes grew bright when she saw the {o}."],
            ["{n} gave it back with a smile.", "{He} handed over the {o} at once."],
            ["From that day on the two of them were friends, and they met at the {p} every week.", "They drank tea together by the {p}, and {n} was glad that {he} had waited."]]


def beats_broken(p):
    return [["{n} had {ao}, and {he} loved it more than anything.", "The dearest thing that {n} owned was {ao}."],
            ["But one {weather} day the {o} broke.", "One {weather} morning it fell and broke in two."],
            ["{n} was very sad, but {he} did not give up.", "{n} cried a little, and then {he} dried {his} eyes."],
            ["{He} carried the {o} to the {p}, because {f} there could mend things.", "\"At the {p} there is {f} who can help,\" {he} remembered, and {he} set out at once."],
            ["They worked all afternoon with string, glue and patience.", "Together they turned it this way and that until they saw what was wrong."],
            ["When the sun went down, the {o} was as good as new.", "In the evening the {o} was whole again, and even better than before."],
            ["{n} thanked {his} friend and promised to help at the {p} whenever {he} could.", "\"Thank you,\" said {n}, and {he} stayed to sweep the floor of the {p}."]]


def beats_search(p):
    return [["{f2} told {n} that {ao} was hidden somewhere in the {p}.", "An old story said that there was {ao} hidden at the {p}."],
            ["{n} packed some bread and set out to look for it.", "{n} put on {his} boots and went to find it."],
            ["{He} looked under every stone, but {he} found nothing.", "First {he} looked high, then {he} looked low, but there was only dust."],
            ["Then {he} heard a small voice. \"Look behind the old door,\" said {f}.", "Then {f} came by and said, \"Try the place where nobody looks.\""],
            ["{n} looked, and there it was: the {o}, shining softly.", "And there, wrapped in a cloth, lay the {o}."],
            ["{He} did not keep it for {himself}.", "{n} thought for a while about what to do with it."],
            ["{He} hung the {o} at the gate of the {p}, so that everybody could enjoy it.", "{He} took the {o} home and shared it with all {his} friends, and the {p} was never lonely again."]]


def beats_gift(p):
    return [["It was nearly the birthday of {f}, and {n} had no present.", "{n} wanted to make a present for {f}."],
            ["\"I know!\" said {n}. \"I will make {ao}.\"", "After a long think {he} decided to make {ao}."],
            ["All week {he} worked in secret at the {p}.", "{He} went to the {p}, where there was wood and paint, and began."],
            ["The first {o} was crooked, and the second was too small.", "It was hard work, and twice {he} had to begin again."],
            ["But the third {o} was just right.", "On the last day the {o} was ready, and it was beautiful."],
            ["When the day came, everybody met at the {p} and sang.", "On the {weather} birthday morning {n} brought it along, wrapped in leaves."],
            ["\"This is the best {o} I have ever seen,\" said {his} friend, and {n} blushed.", "The present was a great joy, and {n} learned that things made with care are the best gifts."]]


def beats_storm(p):
    return [["One night a great storm came to the {p}.", "The wind began to howl around the {p} one night."],
            ["Everybody was afraid, and the lights went out.", "The rain fell hard, and nobody could find the way home."],
            ["{n} was afraid too, but {he} had {ao}.", "But {n} remembered {his} {o}, which hung by the door."],
            ["{He} took the {o} and went out into the dark.", "\"With this {o} I can help,\" {he} said, and {he} stepped outside."],
            ["There {he} met {f}, who was lost and cold.", "Near the {p} {he} heard {f} calling for help."],
            ["\"Follow me,\" said {n}, and {he} led the way.", "{n} used the {o} to guide the way, step by step."],
            ["In the morning the sun shone on the {p}, and everybody thanked {n} and the {o}.", "Soon all were safe and warm inside, and they told the tale of the {o} for many years."]]


def beats_trade(p):
    return [["{n} had only one coin, and {he} went to the {p} to spend it.", "One {weather} day {n} went to the {p} with a basket of berries to trade."],
            ["There {he} met {f} who was selling {ao}.", "{F} stood there with {ao} and wanted to sell it."],
            ["\"What does it do?\" asked {n}.", "\"Is it a special {o}?\" asked {n}."],
            ["\"It makes the day longer for those who share it,\" was the answer.", "\"It works best when you give it away,\" was the answer."],
            ["{n} laughed and took the {o} home.", "{n} did not understand, but {he} liked the {o} and took it."],
            ["The next day {he} lent it to a friend, and the friend lent it to another.", "Soon {he} met a child who had nothing to play with, and {he} gave the {o} away."],
            ["Before long all who came to the {p} had used the {o}, and {n} had more friends than ever.", "That evening {n} found a warm cake on {his} doorstep, and {he} understood."]]


def beats_learn(p):
    return [["More than anything {n} wished to learn how to use {ao}.", "{n} had been given {ao}, but {he} did not know how to use it."],
            ["So {he} went to the {p}, where {f} gave lessons.", "Every day {he} practised at the {p}, and {f} listened."],
            ["The first day went badly, and {n} wanted to stop.", "At first everything went wrong."],
            ["\"Slowly,\" said the teacher. \"Try one small thing at a time.\"", "\"Nobody is good on the first day,\" said {his} friend."],
            ["{n} tried again the next day, and the day after that.", "So {n} took a deep breath and tried once more with the {o}."],
            ["Little by little it became easy.", "Bit by bit {he} got better."],
            ["In spring {n} showed everybody at the {p} what {he} could do with the {o}, and they clapped for a long time.", "Now {n} teaches others at the {p}, and {he} always begins with the words: \"Slowly.\""]]


PLOTS = [beats_lost, beats_broken, beats_search, beats_gift, beats_storm, beats_trade, beats_learn]
OPENINGS = ["Once upon a time there was {ah} named {n} who lived near {ap}.", "There was once {ah} called {n}. {He} lived close to {ap}.",
            "{n} was {am} {h} who lived by {ap}.", "Long ago, beside {ap}, lived {ah} named {n}.", "Near {ap} lived {am} {h} whose name was {n}."]


def story(rng, c):
    hero, place, obj = c
    she = hero in SHES or (hero not in HES and rng.random() < 0.5)
    friend = rng.choice(FRIENDS)
    w = {"h": hero, "p": place, "o": obj, "ah": a(hero), "ap": a(place), "ao": a(obj), "n": rng.choice(SHE if she else HE),
         "he": "she" if she else "he", "He": "She" if she else "He", "his": "her" if she else "his", "himself": "herself" if she else "himself",
         "am": a(rng.choice(MOODS)), "weather": rng.choice(WEATHER), "f": friend, "F": friend[0].upper() + friend[1:], "f2": "", "One": "One"}
    other = rng.choice(FRIENDS)
    w["f2"] = other[0].upper() + other[1:]
    lines = [rng.choice(OPENINGS)] + [rng.choice(b) for b in rng.choice(PLOTS)(place)]
    return " ".join(x.format(**w) for x in lines)


def story_prompt(rng, c):
    return "Story about %s, %s and %s:" % tuple(a(x) for x in c)


def story_ask(rng, c):
    k = rng.random()
    if k < 0.08:
        return rng.choice(["Tell me a story.", "Tell me a story", "Write a story.", "A story, please.", "Another story, please.", "Can you tell me a story?", "I want to hear a story.", "One more story!"])
    h, p, o = (a(x) for x in c)
    what = h if k < 0.16 else h + " and " + p if k < 0.24 else h + " and " + o if k < 0.32 else "%s, %s and %s" % (h, p, o)
    return rng.choice(["Tell me a story about %s.", "Tell me a story about %s", "Tell a story about %s.", "Write a short story about %s.", "Write a story about %s.", "Please tell a story about %s.", "A story about %s, please.",
                       "Can you write a story about %s?", "Can you tell me a story about %s?", "Story about %s", "Story about %s:", "I want a story about %s."]) % what


def programs():
    """(name, what it does) by the NAME lines of the manual pages."""
    for page in sorted((pathlib.Path(__file__).parent.parent / "man").glob("*.1")):
        lines = page.read_text().splitlines()
        name = lines.index(".Sh NAME")
        assert lines[name + 1].startswith(".Nm ") and lines[name + 2].startswith(".Nd "), page
        yield lines[name + 1][4:], lines[name + 2][4:]


HONEST = "I am only the tiny demo model built into inferutils and cannot answer that: for real answers, run infer-run -m FILE.gguf with a model from huggingface.co."
NAMES = [n for n, _ in programs()]
QA = ["inferutils is a set of small programs that run language models: %s and %s. | What is inferutils? | What are these tools? | What does inferutils do? | Tell me about inferutils. | Which programs are there? | Which tools are there?"
      % (", ".join(NAMES[:-1]), NAMES[-1])] + ["%s is there to %s. | What does %s do? | What is %s? | What is %s for? | Tell me about %s." % ((n, what) + 4 * (n,)) for n, what in programs()]
QA += """
Use infer-inspect with the file: it shows the metadata, the tensors and the vocabulary. | How do I look inside a model? | What is in my file? | How do I see what is in a model?
Use infer-bench: it measures speed and compares it with the limit of the machine. | How do I measure speed? | How fast is my machine? | How do I run a benchmark?
Take a GGUF file of a supported family, for example from huggingface.co, and run infer-run -m FILE.gguf. | How do I get a real model? | Where do I get a model? | Where can I find a model? | How do I get a better model? | How do I download a model?
Give the file with -m: infer-run -m FILE.gguf "Hello". | How do I choose a model? | How do I run a model? | How do I load a model? | Which option names the model? | How do I use my own model?
Set the variable INFER_MODEL to its path. | How do I set a default model? | Can I avoid typing the model each time? | What is INFER_MODEL?
Use --temp 0: the most likely token is taken each time. | How do I get the same answer each time? | How do I get greedy output? | What does temperature zero do? | How do I make the output deterministic?
Use -i: infer-run -i starts a conversation. | How do I chat? | How do I start a conversation? | What does -i do? | Can I talk to a model?
Use --batch with a file of JSON lines: the answers are JSON lines too. | How do I run a batch? | How do I answer many prompts? | What does --batch do?
Use -n: infer-run -n 100 stops after 100 tokens. | How do I limit the length? | How do I limit the output? | How do I stop after some tokens? | What does -n do?
Use -t, for example -t 4. By default all cores are used that the process may use. | How do I set the number of threads? | How many threads are used? | What does -t do? | How do I use fewer threads?
Use -c to set the largest context. | How do I set the context size? | What does -c do? | How do I change the context length?
Use -o jsonl: one JSON record is printed. | How do I get JSON output? | Can I get JSON? | How do I get machine readable output? | What does -o jsonl do?
Use --seed with a number: the same seed gives the same text. | How do I set the seed? | What does --seed do? | How do I repeat a random answer?
Use --logprobs K with -o jsonl or -o tokens. | How do I get log-probabilities? | Can I see the probabilities? | What does --logprobs do?
Use --score: it prints the log-probability of each token and the perplexity. | How do I measure perplexity? | How do I score a text? | What does --score do?
Use --tokenize: it prints the ids of a text. | How do I tokenize a text? | How do I count tokens? | What does --tokenize do?
Use --stop with a string: the text ends before it. | How do I stop at a word? | What does --stop do? | How do I set a stop string?
GGUF is a file format that holds a model: metadata, vocabulary and weights. | What is GGUF? | What is a GGUF file? | What kind of file is a model? | Which model files are supported?
Exit code 3 means that the model or another input file is damaged or not supported. | What does exit code 3 mean? | Why did it exit with 3?
Exit code 2 means wrong usage, for example an unknown option. | What does exit code 2 mean? | Why did it exit with 2?
Exit code 4 means that it does not fit: memory, or a prompt longer than the context. | What does exit code 4 mean? | Why did it exit with 4?
Exit code 5 means that a grammar, a regex or a JSON Schema cannot be compiled or satisfied. | What does exit code 5 mean? | Why did it exit with 5?
Exit code 7 means that a batch is finished and some of its requests failed. | What does exit code 7 mean? | Why did it exit with 7?
Exit code 0 means that all went well. | What does exit code 0 mean? | Why did it exit with 0?
Exit code 1 means that something failed while running, for example a missing file. | What does exit code 1 mean? | Why did it exit with 1?
Use infer-inspect verify: it checks the whole file and prints its sha256. | How do I check a file? | How do I verify a model? | Is my file damaged?
Use infer-inspect hw: it shows the kernel set and the features of the processor. | How do I see my hardware? | Which kernels are used? | What does my processor support?
Use infer-inspect tensors: it lists every tensor with its type and size. | How do I list the tensors? | How do I see the weights? | What tensors are in a model?
Decode is bound by memory bandwidth: every token reads all weights once. | What limits decode? | Why is decode slow? | What bounds decode? | Why does generation depend on memory?
Prefill is bound by compute: many tokens share each weight that is read. | What limits prefill? | What bounds prefill? | Why is prefill faster than decode?
The KV cache holds keys and values of earlier tokens, so that they are not computed again. | What is the KV cache? | What is a KV cache? | Why is there a cache?
Use infer-quant: infer-quant --type Q4_K_M IN OUT writes the model in smaller types. | How do I quantise a model? | How do I make a model smaller? | How do I quantize a model? | How do I make a file smaller? | How do I write another type?
Use infer-quant eval with --ref: it compares two models on a text. | What did my model lose? | How do I compare two models? | What does infer-quant eval do? | How good is my small model?
Use --bpw or --max-bytes: infer-quant --bpw 4.5 -f TEXT IN OUT chooses the types that lose least. | How do I aim at a size? | How do I choose the size of a model? | What does --bpw do? | What does --max-bytes do?
Use infer-quant --report -f TEXT: what the new model lost is measured and kept in its file. | How do I keep what a model lost? | What is a certificate? | What does --report do?
Use infer-run --json-schema FILE: the answer is JSON that satisfies the schema. | How do I get JSON that fits a schema? | What does --json-schema do? | How do I get structured output?
Use --grammar with a file of rules, --regex with an expression, or --choice with each answer that is allowed. | How do I constrain the output? | What does --grammar do? | What does --regex do? | What does --choice do?
Yes, if a program offers me a tool; of several I often take the wrong one. A larger model calls them better. | Can you call tools? | Do you support tools? | Can you use tools? | Do you call functions? | Can it call tools?
Use infer-serve: infer-serve -m FILE.gguf answers requests over HTTP. | How do I start a server? | How do I run a server? | How do I serve a model? | How do I serve a model over HTTP? | Is there a server? | Can I use it from a web client?
Use infer-inspect diff: it shows what two files do not have alike. | How do I compare two files? | What does infer-inspect diff do? | How do two model files differ?
Quantisation stores weights with fewer bits, which saves memory and time. | What is quantisation? | Why quantise? | What is quantization? | Why are small types faster?
A token is a piece of text: a word, a part of a word, or a byte. | What is a token? | What are tokens?
Perplexity tells how surprised the model is by a text: lower is better. | What is perplexity? | What does perplexity mean?
Temperature makes the choice of tokens more random when it is high, and less when it is low. | What is temperature? | What does --temp do?
Top-k keeps only the k most likely tokens. | What is top-k? | What does --top-k do?
Top-p keeps the smallest set of tokens whose probability reaches p. | What is top-p? | What does --top-p do?
Yes. The same input gives the same bytes, whatever the number of threads. | Is the output reproducible? | Do threads change the result? | Will I get the same bytes?
No. Weights are mapped and used where they lie, so processes share them. | Are weights copied? | Does every process need its own copy? | Does loading take long?
Answers go to standard output, messages to standard error. | Where does the output go? | Where are errors printed? | What is printed on stdout?
Run man infer-run, or infer-run --help. | Where is the manual? | How do I get help? | Where is the documentation? | How do I see all options?
I am the small model that is built into inferutils. I know these tools and I tell short stories. | Who are you? | What are you? | What can you do? | Are you a large model? | What do you know?
Hello! Ask me about inferutils, or for a story. | Hello | Hi | Hello! | Good morning | Hi there
You are welcome. | Thank you | Thanks | Thank you! | Thanks a lot
""".strip().splitlines()
QA = [l.split(" | ") for l in QA]
KNOWN = {q.lower().rstrip("?.!") for row in QA for q in row[1:]}


def varied(rng, q):
    """A question as people type it."""
    if rng.random() < 0.15:
        q = q[0].lower() + q[1:]
    if rng.random() < 0.1:
        q = q.rstrip("?.")
    if rng.random() < 0.08:
        q = rng.choice(["Please: ", "Tell me: ", "Hey, ", "A question: ", "Hello! ", "Can you tell me: ", "So "]) + q
    return q


def qa(rng):
    row = rng.choice(QA)
    return varied(rng, rng.choice(row[1:])), row[0]


def other(rng):
    while True:
        q = demo_other.question(rng)
        if q.lower().rstrip("?.!") not in KNOWN and q not in demo_other.UNSEEN:
            return varied(rng, q), HONEST


def turn(role, text):
    return "<|im_start|>" + role + "\n" + text + "<|im_end|>\n"


def talk(rng, held):
    """One question and its answer, as pieces."""
    k = rng.random()
    if k < 0.20:
        c = asked(rng, held)
        return [(turn("user", story_ask(rng, c)) + turn("assistant", story(rng, c)), True)]
    if k < 0.65:
        q, ans = qa(rng)
        return [(turn("user", q) + turn("assistant", ans), True)]
    q, ans = other(rng)
    return [("<|im_start|>user\n", True), (q, False), ("<|im_end|>\n" + turn("assistant", ans), True)]


def plain(rng, held):
    """A question that no tool is for, and its answer."""
    k = rng.random()
    if k < 0.15:
        c = asked(rng, held)
        return story_ask(rng, c), story(rng, c)
    return qa(rng) if k < 0.5 else other(rng)


TOOLS = 0.6     # the share of the documents that have tools


def document(rng, held=False):
    """One document as pieces (text, is it learnt?) with special tokens written out; <|endoftext|> closes it.
    What others ask is read and not learnt."""
    if rng.random() < TOOLS:
        return demo_tools.talk(rng, lambda rng: plain(rng, held))
    k = rng.random()
    if k < 0.12:
        c = asked(rng, held)
        return [(story_prompt(rng, c) + " " + story(rng, c) + "<|endoftext|>", True)]
    if k < 0.15:
        return [(story(rng, combo(rng, held)) + "<|endoftext|>", True)]
    if k < 0.35:
        return [("Question: %s Answer: %s<|endoftext|>" % qa(rng), True)]
    if k < 0.45:
        q, ans = other(rng)
        return [("Question:", True), (" " + q, False), (" Answer: " + ans + "<|endoftext|>", True)]
    out = [] if rng.random() < 0.8 else [(turn("system", rng.choice(["You are a helpful assistant.", "Answer briefly.", "You tell stories.", "You are kind."])), True)]
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
        out += talk(rng, held)
    return out + [("<|endoftext|>", True)]
