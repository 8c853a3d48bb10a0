#!/usr/bin/env python3
"""`tern run` and `tern perplexity` on a small model, against transformer.py.

  logprobs    greedy tokens and their logprobs are the reference's, with and without a bias and a penalty
  parallel    several answers in one batch are those that come one by one
  perplexity  value, error and running values are those of the definition
  chat        through a pipe: a conversation is what `tern run` makes of the rendered one; commands; the end of the context
  terminal    through a pseudo-terminal: editing, history, wide characters, paste, Ctrl-C in an answer and at the prompt, Ctrl-D; bars
  interrupt   Ctrl-C and SIGTERM while a prompt is read; Ctrl-C again and again; signals at the prompt
  converted   every kind of file as GGUF and as safetensors, there and back: the same bits
  json        texts with zero bytes are whole
  head        what --head says of a converted head
  ends        every token that ends an answer does, whichever of them the file names
  streams     pieces are written as they come; a file that is cut short meanwhile is an error
  stops       a stop string ends the answer before it, however the tokens cut it
"""
import codecs
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time

import numpy as np

import harness
import model_files as files
from harness import Skip
from transformer import Shape, Weights, forward, nmse
import test_models as models

LETTERS = "abcdefghijklmnopqrstuvwxyz"
FIRST_BYTE = 3      # <unk>, <s>, </s>, then bytes: the token of a letter is its byte and 3


def vocabulary():
    texts = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % byte for byte in range(256)]
    return {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": texts,
            "tokenizer.ggml.scores": [0.0] * len(texts), "tokenizer.ggml.token_type": [2, 3, 3] + [6] * 256,
            "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0,
            "tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_space_prefix": False}


def encode(text):
    return [1] + [FIRST_BYTE + byte for byte in text.encode()]


def make_model(g, context=64):
    """A model whose likeliest tokens are letters: others have hardly a head."""
    s = Shape("B", layers=2, vocabulary=FIRST_BYTE + 256, context=context, tied=False)
    w = Weights(s, g.rng)
    letters = [FIRST_BYTE + ord(c) for c in LETTERS]
    keep = np.zeros(s.vocabulary, bool)
    keep[letters] = True
    w.head *= np.where(keep, 0.15, 0.01)[:, None].astype(np.float32)
    full = models.write_gguf("model.gguf", w, g.rng, table="F32", head="F32", meta=vocabulary())
    return full, w


def tern(*arguments):
    if "TERN_BIN" not in os.environ:
        raise Skip("this build has no program")
    # Two threads that wait for each other take many times as long where others have the cores: who wants more than one says so.
    threads = ["-t", "1"] if arguments[0] in ("run", "perplexity") and "-t" not in arguments else []
    done = subprocess.run([os.environ["TERN_BIN"]] + [str(a) for a in arguments] + threads, capture_output=True, text=True,
                          timeout=600)
    if done.returncode or done.stderr:
        raise AssertionError("tern %s: %d %s" % (" ".join(map(str, arguments)), done.returncode, done.stderr))
    return done.stdout


def draw_text(g, n):
    return "".join(g.pick(LETTERS) for _ in range(n))


def log_softmax(x):
    top = x.max(-1, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(-1, keepdims=True))


# An activation that is rounded to the code beside it, because f32 is not f64, moves logits by some hundredths.
SLACK = 0.06


def choose(logits, tokens, biased, bias, penalty):
    """What greedy sampling sees: bias, then the penalty of the last four tokens."""
    changed = logits.copy()
    changed[biased] += bias
    for token in set(tokens[-4:]):
        changed[token] = changed[token] / penalty if changed[token] > 0 else changed[token] * penalty
    second, first = np.sort(changed)[-2:]
    return int(np.argmax(changed)), first - second > 3 * SLACK


def case_logprobs(g):
    full, w = make_model(g)
    n, top, penalty = 6, 4, g.pick([1.0, 1.3])
    biased, bias = FIRST_BYTE + ord(g.pick(LETTERS)), -2.5
    prompt = next(p for p in (draw_text(g, 5) for _ in range(100))
                  if choose(forward(w, encode(p))[-1], encode(p), biased, bias, penalty)[1])
    got = json.loads(tern("run", "-m", full, "-p", prompt, "-n", n, "--temp", 0, "--json", "--logprobs", top, "--cache-type", "f32",
                          "-l", "%d%+g" % (biased, bias), "--repeat-penalty", penalty, "--repeat-last-n", 4))
    if [e["token"] for e in got["logprobs"]] != got["tokens"] or len(got["tokens"]) != n:
        return "tokens and logprobs are not the same tokens"
    tokens, found = encode(prompt), []
    for i, entry in enumerate(got["logprobs"]):
        logits = forward(w, tokens)[-1]
        logprobs = log_softmax(logits)
        token, clear = choose(logits, tokens, biased, bias, penalty)
        if not clear:
            break       # too near to call
        if entry["token"] != token:
            return "token %d is %d, not %d" % (i, entry["token"], token)
        listed = [entry] + entry["top"]
        found += ["the logprob of token %d is %g, not %g" % (e["token"], e["logprob"], logprobs[e["token"]])
                  for e in listed if abs(e["logprob"] - logprobs[e["token"]]) > SLACK]
        if len(entry["top"]) != top or np.sort(logprobs)[-top] - min(logprobs[e["token"]] for e in entry["top"]) > SLACK:
            found.append("%r are not the likeliest" % entry["top"])
        tokens.append(token)
    return found


def case_parallel(g):
    full, _ = make_model(g)
    options = ["-m", full, "-p", draw_text(g, g.int(1, 20)), "-n", 12, "--temp", 2, "--json"]
    seed = g.int(0, 1000)
    together = json.loads(tern("run", *options, "--seed", seed, "--parallel", 3, "-t", 2))["answers"]
    for i, answer in enumerate(together):
        alone = json.loads(tern("run", *options, "--seed", seed + i, "-t", 1, "-b", g.int(1, 8)))
        if alone["tokens"] != answer["tokens"] or alone["content"] != answer["content"] or answer["seed"] != seed + i:
            return "answer %d: %r together, %r alone" % (i, answer["tokens"], alone["tokens"])
    return "all answers are the same" if all(a["tokens"] == together[0]["tokens"] for a in together) else None


def case_perplexity(g):
    full, w = make_model(g)
    context, chunks = g.pick([8, 16, 33]), g.int(1, 4)
    text = draw_text(g, context * chunks - 1 + g.int(0, context - 1))
    with open(models.path("text"), "w") as file:
        file.write(text)
    got = json.loads(tern("perplexity", "-m", full, "-f", file.name, "-c", context, "--json", "--cache-type", "f32"))
    tokens, nll, running = encode(text), [], []
    for k in range(chunks):
        chunk = tokens[k * context:(k + 1) * context]
        logprobs = log_softmax(forward(w, [1] + chunk[1:]))
        nll += [-logprobs[i, chunk[i + 1]] for i in range(context // 2, context - 1)]
        running.append(np.exp(np.mean(nll)))
    error = running[-1] * np.std(nll) / np.sqrt(max(len(nll) - 1, 1))
    found = []
    if got["tokens_judged"] != len(nll) or got["context"] != context or len(got["running"]) != chunks:
        found.append("%r: %d tokens in %d chunks should be judged" % (got, len(nll), chunks))
    for name, a, b in [("perplexity", got["perplexity"], running[-1]), ("error", got["error"], error)] + \
            [("value behind chunk %d" % i, a, b) for i, (a, b) in enumerate(zip(got["running"], running))]:
        if abs(a - b) > SLACK * b:
            found.append("%s %g, not %g" % (name, a, b))
    shown = tern("perplexity", "-m", full, "-f", file.name, "-c", context, "--cache-type", "f32")
    if not shown.startswith("[1]%.4f," % got["running"][0]) or "PPL = %.4f +/-" % got["perplexity"] not in shown:
        found.append("shown as %r" % shown)
    return found


def case_stops(g):
    full, _ = make_model(g)
    options = ["run", "-m", full, "-p", draw_text(g, 4), "-n", 24, "--seed", g.int(0, 99), "--temp", 1.5, "--ignore-eos", "--json"]
    whole = json.loads(tern(*options))["content"]
    at = g.int(0, len(whole) - 4)
    stop = whole[at:at + g.int(1, 3)]
    got = json.loads(tern(*options, "-r", "no such text", "-r", stop))
    expected = whole[:whole.index(stop)]
    return None if (got["content"], got["finish"]) == (expected, "stop") else "%r, not %r" % (got, expected)


def case_zero_bytes(g):
    """Texts go to JSON whole: a zero byte is a character like any other."""
    full, _ = make_model(g)
    zero, letter = FIRST_BYTE, FIRST_BYTE + ord("x")
    got = json.loads(tern("run", "-m", full, "-p", "a", "-n", 3, "--temp", 0, "--json", "--logprobs", 1, "-l", "%d+1000" % zero))
    found = [] if got["content"] == "\0\0\0" else ["content %r" % got["content"]]
    found += [] if [e["text"] for e in got["logprobs"]] == ["\0"] * 3 else ["logprobs %r" % got["logprobs"]]
    shown = json.loads(tern("tokenize", "-m", full, "--decode", "%d %d %d" % (letter, zero, letter), "--json"))["text"]
    return found + ([] if shown == "x\0x" else ["decoded %r" % shown])


def case_head(g):
    """A converted head says for how many of at least 10,000 tokens the likeliest one stays; one that has the type is not measured."""
    found = []
    s = Shape("B", layers=1, vocabulary=FIRST_BYTE + 256, tied=False)
    for kind, wanted in (("F16", "q8"), ("F16", "q6"), ("Q6_K", "q6")):
        full = models.write_gguf("head-%s.gguf" % kind, Weights(s, g.rng), g.rng, table="F32", head=kind, meta=vocabulary())
        command = [os.environ["TERN_BIN"], "run", "-m", full, "-p", "abc", "-n", "4", "--temp", "0"]
        plain = subprocess.run(command, capture_output=True, timeout=600)
        run = subprocess.run(command + ["--head", wanted], capture_output=True, timeout=600)
        said = run.stderr.decode()
        measured = re.fullmatch(r"head as %s: the likeliest token is the same as with the file's for (\d+) of (\d+) random tokens \((\d+\.\d\d)%%\)\n" % wanted, said)
        if run.returncode or plain.returncode:
            found.append("%r %r" % (plain, run))
        elif kind == "Q6_K":
            found += [] if said == "head as q6: that is what the file has, nothing is converted\n" and run.stdout == plain.stdout else ["%r" % run]
        elif not measured:
            found.append("%r" % said)
        else:
            same, total, share = int(measured[1]), int(measured[2]), float(measured[3])
            if total < 10000 or not 0.9 * total < same <= total or abs(share - 100.0 * same / total) > 0.006:
                found.append("%r" % said)
    return found


def ends_with(full, token):
    """Does an answer end at once if the likeliest token is this one?"""
    got = json.loads(tern("run", "-m", full, "-p", "a", "-n", 4, "--temp", 0, "--json", "-l", "%d+1000" % token))
    return got["finish"] == "end" and got["content"] == ""


def case_ends(g):
    """LLaMA-3 has two tokens that end an answer, and files name one; the list of a config.json counts as a whole."""
    names, found = ["<|end_of_text|>", "<|eot_id|>"], []
    s = Shape("B", layers=1, vocabulary=FIRST_BYTE + 256 + len(names), tied=False)
    for eos in range(len(names)):
        meta = vocabulary()
        for key, values in (("tokens", names), ("scores", [0.0] * len(names)), ("token_type", [3] * len(names))):
            meta["tokenizer.ggml." + key] += values
        meta["tokenizer.ggml.eos_token_id"] = FIRST_BYTE + 256 + eos
        full = models.write_gguf("ends%d.gguf" % eos, Weights(s, g.rng), g.rng, table="F32", head="F32", meta=meta)
        found += ["%s does not end an answer where %s is the file's end" % (name, names[eos])
                  for i, name in enumerate(names) if not ends_with(full, FIRST_BYTE + 256 + i)]
    folder, full = models.path("ends"), make_model(g)[0]
    os.makedirs(folder)
    tern("convert", full, os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    letters = [FIRST_BYTE + ord(c) for c in "wxyz"]
    for ends in ([2], [2, letters[0]], [2] + letters[:2], [letters[3]] + letters[:3] + [2]):
        config["eos_token_id"] = ends
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config, file)
        name = os.path.join(folder, "%d" % len(ends))
        back, again, other = name + ".gguf", name + "-again.gguf", os.path.join(name, "model.safetensors")
        os.makedirs(name)
        tern("convert", folder, back)
        tern("convert", back, again, "--type", "tq2_0")
        tern("convert", again, other)
        with open(os.path.join(name, "config.json")) as file:
            said = json.load(file)["eos_token_id"]
        found += ["%r became %r" % (ends, said)] if said != (ends if len(ends) > 1 else ends[0]) else []
        for where in (folder, back, again, name):
            got = [token for token in [2] + letters if ends_with(where, token)]
            found += ["%s: %r" % (where, got)] if sorted(got) != sorted(ends) else []
    return found


# ---- chat ------------------------------------------------------------------------------------------------------

def render(messages):
    """LLaMA-2's template as ids: the blanks are the vocabulary's three bytes of U+2581."""
    ids = []
    for role, content in messages:
        words = ("[INST] " + content + " [/INST]" if role == "user" else " " + content + " ")
        body = [FIRST_BYTE + byte for byte in words.replace(" ", "\u2581").encode()]
        ids += [1] + body if role == "user" else body + [2]
    return ids


def chat(full, lines, *options):
    if "TERN_BIN" not in os.environ:
        raise Skip("this build has no program")
    return subprocess.run([os.environ["TERN_BIN"], "chat", "-m", full, "--chat-template", "llama-2", "-t", "1"] + list(options),
                          input="".join(line + "\n" for line in lines), capture_output=True, text=True, timeout=600)


def case_chat(g):
    """Greedy, so that the reference knows the first answer's first token; what is known of a turn is not read again."""
    full, w = make_model(g, context=256)
    first, second = draw_text(g, 4), draw_text(g, 3)
    done = chat(full, [first, second], "--temp", "0", "-n", "6")
    answers = done.stdout.splitlines()
    if done.returncode or len(answers) != 2 or done.stderr.count(" tokens written at ") != 2:
        return "%r" % done
    found = []
    logits = forward(w, render([("user", first)]))[-1]
    token, clear = choose(logits, [], 0, 0, 1)
    if clear and answers[0][0] != chr(token - FIRST_BYTE):
        found.append("the answer %r should begin with %r" % (answers[0], chr(token - FIRST_BYTE)))
    known = len(render([("user", first)]))     # the answer comes behind a blank, which was not there when it was made
    if ", %d kept from before" % known not in done.stderr.splitlines()[1]:
        found.append("%d tokens should be kept: %r" % (known, done.stderr))
    again = chat(full, [first, "/clear", first, "/exit", "not heard"], "--temp", "0", "-n", "6").stdout.splitlines()
    if again != [answers[0]] * 2:
        found.append("/clear: %r" % again)
    told = chat(full, ["/system " + second, first], "--temp", "0", "-n", "6").stdout
    if told != chat(full, [first], "--temp", "0", "-n", "6", "--system", second).stdout:
        found.append("/system is not --system")
    return found


def case_chat_context(g):
    """A context of 64 holds few turns: the oldest go, and that is said; a message that never fits is refused, and what was said
    before it is still known."""
    full, _ = make_model(g)
    done = chat(full, ["abcd", "efgh", "ijkl", "x" * 80, "mnop"], "--temp", "0", "-n", "4")
    notes = done.stderr.splitlines()
    if done.returncode != 1 or len(done.stdout.splitlines()) != 4:
        return "%r" % done
    if sum("forgotten" in note for note in notes) < 1 or sum("there is room for 63" in note for note in notes) != 1:
        return "%r" % notes
    if ", 0 kept from before" in notes[-1]:
        return "the conversation is lost: %r" % notes
    return None


def utf8_locales():
    done = subprocess.run(["locale", "-a"], capture_output=True, text=True)
    return done.stdout.split()


class Terminal:
    """A program on a pseudo-terminal of 60 columns."""

    def __init__(self, arguments, **environment):
        if "TERN_BIN" not in os.environ:
            raise Skip("this build has no program")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm"}, **environment)
            os.execv(os.environ["TERN_BIN"], [os.environ["TERN_BIN"]] + arguments)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        self.seen = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def wait_for(self, words, seconds=240):
        """What was shown up to `words`; they and what is before them are taken."""
        end = time.time() + seconds
        while words not in self.seen:
            if not select.select([self.fd], [], [], max(end - time.time(), 0))[0]:
                raise AssertionError("%r did not come; there is %r" % (words, self.seen))
            try:
                self.seen += self.decoder.decode(os.read(self.fd, 4096))
            except OSError:
                raise AssertionError("the program ended before %r; there is %r" % (words, self.seen)) from None
        before, self.seen = self.seen.split(words, 1)
        return before

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def interrupt(self):
        """The signal of a Ctrl-C, as a terminal sends it that is not raw: whether it is cannot be known from here."""
        fcntl.ioctl(self.fd, getattr(termios, "TIOCSIG", 0x40045436), signal.SIGINT)

    def end(self):
        """The exit status."""
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def case_terminal(g):
    full, _ = make_model(g)
    prompt = "\r> "
    t = Terminal(["chat", "-m", full, "--chat-template", "llama-2", "--temp", "0", "-n", "5"])
    t.wait_for(prompt)
    t.send("xbcX\x7f\x01\x1b[3~a\x05d")         # backspace; home, delete, a; end, d
    t.wait_for("abcd")
    t.send("\r")
    first = t.wait_for("5 tokens written at ")
    t.wait_for(prompt)
    t.send("nonsense\x15\x1b[A")                  # kill the line; up
    t.wait_for("abcd")
    t.send("\x1b[B/clear\r\x1b[A\x10\r")         # down: an empty line; then up twice
    t.wait_for("/clear")
    t.wait_for("abcd")
    again = t.wait_for("5 tokens written at ")
    t.wait_for(prompt)
    t.send("half a line\x03")
    t.wait_for("leaves")
    t.wait_for(prompt)
    t.send("\x04")
    status = t.end()
    answers = [[line for line in text.replace("\x1b[K", "\n").splitlines() if len(line) == 5 and line.isalpha()] for text in (first, again)]
    if answers[0] != answers[1] or len(answers[0]) != 1:
        return "not the same answer: %r %r" % (first, again)
    return None if status == 0 else "exit status %d" % status


def case_terminal_characters(g):
    """Wide and combining characters take the columns that the terminal gives them, and are drawn whole; a paste is one message;
    Ctrl-Z leaves the line as it is (a job without a shell is not stopped)."""
    locale = next((name for name in ("C.UTF-8", "C.utf8", "en_US.UTF-8") if name in utf8_locales()), None)
    if not locale:
        raise Skip("no UTF-8 locale is installed")
    full, _ = make_model(g, context=256)
    t = Terminal(["chat", "-m", full, "--chat-template", "llama-2", "--temp", "0", "-n", "2"], LC_ALL=locale)
    t.wait_for("\r> ")
    for byte in "日本語".encode():                 # byte by byte, as over a slow line
        os.write(t.fd, bytes([byte]))
        time.sleep(0.02)
    drawn = t.wait_for("日本語\x1b[K\r\x1b[8C")    # the prompt's two columns, and two for each
    found = ["a part of a character is drawn: %r" % drawn] if "\ufffd" in drawn else []
    t.send("\x1b[D")
    t.wait_for("\x1b[6C")
    t.send("e\u0301\x1a")                         # an accent of its own takes no column
    t.wait_for("日本e\u0301語\x1b[K\r\x1b[7C")
    t.send("\x7f")                                 # and goes with its letter
    t.wait_for("日本語\x1b[K\r\x1b[6C")
    t.send("\x15\x0b\x1b[200~ab\rcd\x03\x04\tef\r\x1b[201~")
    t.wait_for("ab↵cd ef\x1b[K")
    t.send("\r")
    t.wait_for("2 tokens written at ")
    t.wait_for("\r> ")
    t.send("/exit\r")
    status = t.end()
    return found + (["exit status %d" % status] if status else [])


def case_commands_in_texts(g):
    """What a terminal would obey is shown as question marks, in both sets of control characters; in a pipe nothing is changed."""
    full, _ = make_model(g)
    words = "a\x1b[1mb\u009b1mc\u00e9d\x7fe"
    arguments = ["run", "-m", full, "-p", words, "--no-escape", "-n", "1", "--temp", "0", "-t", "1"]
    t = Terminal(arguments)
    shown = t.wait_for("e") + t.seen
    status = t.end()
    found = [] if "a?[1mb?1mc\u00e9d?" in shown and status == 0 else ["%d, shown as %r" % (status, shown)]
    return found + ([] if tern(*arguments).startswith(words) else ["changed in a pipe"])


def case_waits(g):
    """Standard input that is a terminal: who did not mean it is told what is waited for."""
    full, _ = make_model(g)
    t = Terminal(["run", "-m", full, "-n", "2", "--temp", "0"])
    t.wait_for("Ctrl-D")
    t.send("abc\n\x04")
    t.wait_for("abc")
    t.wait_for("abc")
    status = t.end()
    return None if status == 0 else "exit status %d" % status


def case_bars(g):
    """A long prompt shows how far it is, and the bar leaves nothing behind."""
    full, found = slow_model(g), []
    t = Terminal(["run", "-m", full, "-f", write_prompt("x" * 3900), "-n", "1", "-t", "1", "-b", "64", "--temp", "0", "--no-display-prompt"])
    t.wait_for("reading the prompt ")
    t.wait_for(" of 3901 tokens\x1b[K")
    rest = ""
    try:
        t.wait_for("never said")
    except AssertionError:
        rest = t.seen
    found += [] if re.search(r"\r\x1b\[K[^\r]*[\r\n]*$", rest) else ["the bar stays: %r" % rest[-200:]]
    status = t.end()
    return found + (["exit status %d" % status] if status else [])


TRIES = 10


def case_streams(g):
    """The first piece of a long answer is there long before the last; and a file that is cut short meanwhile ends the program with an
    error, not by a signal: its table is mapped."""
    full, _ = make_model(g, context=4096)
    command = [os.environ["TERN_BIN"], "run", "-m", full, "-p", "abc", "--ignore-eos", "--temp", "1", "--no-display-prompt", "-t", "1"]
    for _ in range(TRIES):
        program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = os.read(program.stdout.fileno(), 1 << 16)
        if program.poll() is None and 0 < len(first) < 1000:
            break
        program.communicate(timeout=600)    # this process was not let run meanwhile
    else:
        return "the first piece came with %d bytes" % len(first)
    os.truncate(full, 4096)
    _, said = program.communicate(timeout=600)
    return None if program.returncode == 1 and b"cut short" in said and said.count(b"\n") == 1 else "%d %r" % (program.returncode, said)


def cut_after_loading(g, command):
    """What a command says whose model's file is cut short some time after it was mapped: later and later, until all weights were read before."""
    for k in range(TRIES):
        full, _ = make_model(g, context=512)
        program = subprocess.Popen([os.environ["TERN_BIN"]] + command + ["-m", full], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while program.poll() is None and full not in open("/proc/%d/maps" % program.pid).read():
            time.sleep(0.001)
        time.sleep(0.02 * 2 ** k)
        os.truncate(full, 4096)
        said = b"".join(program.communicate(timeout=600))
        if program.returncode not in (0, 1) or b"was in use" in said:
            break
    return program.returncode, said


def case_cut_while_mapped(g):
    """Commands that measure a model map its table too: a file that is cut short meanwhile is an error there as well, not a signal."""
    if "TERN_BIN" not in os.environ:
        raise Skip("this build has no program")
    if not os.path.exists("/proc/self/maps"):
        raise Skip("there is no /proc to see what a program has mapped")
    found = []
    for command in (["bench", "model", "-p", "64", "-n", "64", "-r", "1000", "-t", "1"],
                    ["compare", "--devices", "cpu", "--rounds", "1000", "--threads", "1"]):
        status, said = cut_after_loading(g, command)
        if status not in (0, 1) or b"cut short while it was in use" not in said:
            found.append("%s: %d %r" % (command[0], status, said[-300:]))
    return found


def case_hidden_answers(g):
    """Several answers are counted while they are made, and Ctrl-C stops them."""
    full, _ = make_model(g, context=4096)
    t = Terminal(["run", "-m", full, "-p", "abc", "--ignore-eos", "--parallel", "4"])
    t.wait_for("of 16372 tokens")
    t.send("\x03")
    t.wait_for("stopped")
    status = t.end()
    return None if status == 1 else "exit status %d" % status


def case_interrupt(g):
    """Ctrl-C while a long answer runs: it stops, the next message is answered."""
    full, _ = make_model(g, context=4096)
    t = Terminal(["chat", "-m", full, "--chat-template", "llama-2", "--temp", "1", "--ignore-eos"])
    t.wait_for("\r> ")
    t.send("abc\r")
    t.wait_for("abc\x1b[K")
    t.wait_for("\n")
    t.send("\x03")
    t.wait_for("stopped")       # the answer, or before its first token the reading of the message
    t.wait_for("\r> ")
    t.send("/exit\r")
    status = t.end()
    return None if status == 0 else "exit status %d" % status


def case_interrupts(g):
    """Ctrl-C again and again, as a key and as the signal that it is outside the editor, at the prompt, in an answer and between:
    the program goes on."""
    full, _ = make_model(g, context=4096)
    t = Terminal(["chat", "-m", full, "--chat-template", "llama-2", "--temp", "1", "--ignore-eos"])
    t.wait_for("\r> ")
    t.interrupt()
    for _ in range(4):
        t.send("abc\r")
        t.wait_for("abc\x1b[K")
        t.wait_for("\n")
        for _ in range(30):
            t.interrupt()
            t.send("\x03")
        t.send("\x15/nonsense\r")   # what was printed before, a Ctrl-C may have taken away: terminals forget it then
        t.wait_for("there is no command")
    t.send("/quit\r")
    status = t.end()
    return None if status == 0 else "exit status %d" % status


def case_ended_at_the_prompt(number):
    """A signal from outside ends the program, and the terminal is as it was."""
    def case(g):
        full, _ = make_model(g)
        fresh = pty.openpty()
        before = termios.tcgetattr(fresh[0])
        for fd in fresh:
            os.close(fd)
        t = Terminal(["chat", "-m", full, "--chat-template", "llama-2"])
        t.wait_for("\r> ")
        raw = termios.tcgetattr(t.fd)
        os.kill(t.pid, number)
        t.wait_for("\x1b[?2004l")
        status, after = os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1]), termios.tcgetattr(t.fd)
        os.close(t.fd)
        if raw == before:
            return "the terminal was never taken"
        return None if (status, after) == (-number, before) else "exit status %d, %r, not %r" % (status, after, before)
    return case


def seconds_of(pid):
    """Of the processor."""
    with open("/proc/%d/stat" % pid) as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def slow_model(g):
    s = Shape("B", layers=2, width=512, ff=1024, vocabulary=FIRST_BYTE + 256, context=4096, tied=False)
    return models.write_gguf("slow.gguf", Weights(s, g.rng), g.rng, table="F32", head="F32", meta=vocabulary())


def write_prompt(text):
    with open(models.path("prompt"), "w") as file:
        file.write(text)
    return file.name


def slow_command(g, command, *options):
    """A command whose prompt takes many times as long as loading its model does, and how long that is on this machine now."""
    if "TERN_BIN" not in os.environ:
        raise Skip("this build has no program")
    if not os.path.exists("/proc/self/stat"):
        raise Skip("there is no /proc to see what a program is doing")
    full = slow_model(g)
    words = [os.environ["TERN_BIN"], command, "-m", full, "-t", "1", "-b", "4096", "--temp", "0"] + list(options)
    program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    program.stdin.write(b"x\n")
    program.stdin.close()
    _, status, used = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    return words, used.ru_utime + used.ru_stime


def start_long_prompt(words, load):
    """The program, reading a prompt of one chunk; or ended, where this one was not let run meanwhile."""
    program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    program.stdin.write("x" * 3900 + "\n")
    program.stdin.flush()
    if words[1] == "run":        # which reads all of it first
        program.stdin.close()
        program.stdin = None
    while program.poll() is None and seconds_of(program.pid) < 2 * load + 0.05:
        time.sleep(0.01)
    return program


def case_interrupted_prompt(number):
    """A signal while a prompt of one chunk is read is obeyed behind it."""
    def case(g):
        words, load = slow_command(g, "run", "-n", "1", "--no-display-prompt")
        for _ in range(TRIES):
            program = start_long_prompt(words, load)
            program.send_signal(number)
            out, err = program.communicate(timeout=600)
            if program.returncode != 0:
                return None if (program.returncode, out) == (1, "") and "the prompt was stopped" in err \
                    else "%d %r %r" % (program.returncode, out, err)
        return "it goes on whatever it is told"
    return case


def case_interrupted_message(g):
    """Ctrl-C while a message is read: it is forgotten, the next one is answered. SIGTERM ends the program."""
    words, load = slow_command(g, "chat", "--chat-template", "llama-2", "-n", "2")
    for number in (signal.SIGINT, signal.SIGTERM):
        for _ in range(TRIES):
            program = start_long_prompt(words, load)
            program.send_signal(number)
            out, err = program.communicate("abc\n", timeout=600)
            if program.returncode != 0:         # else both messages were answered: the signal came too late
                break
        if number == signal.SIGTERM:
            return None if (program.returncode, out) == (-number, "") else "%d %r %r" % (program.returncode, out, err)
        if program.returncode != 1 or out.count("\n") != 1 or "the prompt was stopped" not in err or err.count(" tokens written at ") != 1:
            return "%d %r %r" % (program.returncode, out, err)


# ---- conversions -----------------------------------------------------------------------------------------------

def make_source(g, source, **sizes):
    """A model in some kind of file, and whether its projections are ternary."""
    family, kind = source
    if kind == "packed" or kind == "online":
        s = Shape(family, **dict(dict(width=256, heads=4, kv_heads=2, ff=256, tied=g.chance(0.5)), **sizes))
        w = Weights(s, g.rng)
        if kind == "packed":
            divides = family == "C"
            return models.write_packed("source", w, {} if divides else {"linear_class": "autobitlinear"}, divides, g.pick([1, 2]))
        tensors = models.hf_common(w)
        for (layer, linear), (codes, _) in w.linears.items():
            raw, _ = files.encode_floats("BF16", g.rng.normal(0, 0.1, codes.shape).astype(np.float32))
            tensors.append((models.hf_linear(layer, linear, "weight"), codes.shape, "BF16", raw))
        full = models.path("source")
        files.write_hf(full, models.hf_config(s, {"quantization_mode": "online"}), tensors)
        return full
    s = Shape(family, width=256, heads=4, kv_heads=2, ff=256, tied=g.chance(0.5), vocabulary=FIRST_BYTE + 256)
    return models.write_gguf("source.gguf", Weights(s, g.rng, spread=1.1), g.rng, kind, meta=g.pick([{}, vocabulary()]))


def case_converted(source, first, second):
    """`first` and `second` are the types of two conversions, "" as they are; safetensors if the name says so."""
    def case(g):
        full = make_source(g, source)
        tokens = g.rng.integers(0, 96, 6)
        expected = models.run(full, tokens)
        for i, wanted in enumerate((first, second)):
            kind, container = wanted.split("@")
            folder = models.path("step%d" % i)
            os.makedirs(folder)
            out = os.path.join(folder, "model." + container)
            numbers = ["--force"] if kind == "f32" and container == "safetensors" else []   # which only Tern reads
            report = json.loads(tern("convert", full, out, "--json", *(["--type", kind] if kind else []), *numbers))
            bad = [t["name"] for t in report["tensors"] if not t["lossless"] and not (source[1] == "online" and i == 0)]
            if bad:
                return "%s to %s loses something: %s" % (full, wanted, bad)
            got = models.run(out, tokens)
            # the rows of LLaMA's q and k change their places, and with them the order of sums
            error = nmse(got, expected)
            if error > (models.MOST if source[0] in ("C", "llama") else 0):
                return "%s as %s gives other logits: NMSE %.1e" % (source, wanted, error)
            if container == "safetensors" and source[1] in files.TERNARY and \
                    os.path.exists(os.path.join(folder, "tokenizer.json")) != has_tokenizer(full):
                return "tokenizer.json"
            full = out
        return None
    return case


def has_tokenizer(full):
    return subprocess.run([os.environ["TERN_BIN"], "tokenize", "-m", full, "-p", "x"], capture_output=True).returncode == 0


def scored_vocabulary(g, letters, words):
    """Characters with scores: the more likely of two words is made first; ids in no order."""
    meta = vocabulary()
    texts = letters + g.rng.permutation(words).tolist()
    meta["tokenizer.ggml.tokens"] = meta["tokenizer.ggml.tokens"] + texts
    meta["tokenizer.ggml.scores"] = meta["tokenizer.ggml.scores"] + (-g.rng.permutation(len(texts))).astype(float).tolist()
    meta["tokenizer.ggml.token_type"] = meta["tokenizer.ggml.token_type"] + [1] * len(texts)
    return meta


def make_scored_model(g, letters, words):
    s = Shape("B", layers=1, vocabulary=FIRST_BYTE + 256 + len(letters) + len(words), context=64, tied=False)
    return models.write_gguf("scored.gguf", Weights(s, g.rng), g.rng, table="F32", head="F32",
                             meta=scored_vocabulary(g, letters, words))


WORDS = ["ab", "bc", "abc", "ca", "cab", "aa", "aaa", "bca", "cabc"]


def case_scored_tokens(g):
    """Scores become merges in tokenizer.json: the same ids for any text."""
    full = make_scored_model(g, list("abc"), WORDS)
    folder = models.path("scored-%d" % g.int(0, 1 << 30))
    os.makedirs(folder)
    tern("convert", full, os.path.join(folder, "model.safetensors"))
    for _ in range(8):
        text = "".join(g.pick(list("abcd")) for _ in range(g.int(1, 20)))
        ids = [tern("tokenize", "-m", name, "-p", text, "--ids") for name in (full, folder)]
        if ids[0] != ids[1]:
            return "%s: %r" % (text, ids)
    return None


def case_unsayable_tokens(g):
    """A word of a character that is no token cannot be told in merges: refused before anything is written."""
    full = make_scored_model(g, list("ab"), WORDS)
    folder = models.path("unsayable")
    os.makedirs(folder)
    run = subprocess.run([os.environ["TERN_BIN"], "convert", full, os.path.join(folder, "model.safetensors")],
                         capture_output=True, text=True)
    if run.returncode != 1 or "cannot say how token" not in run.stderr:
        return "%d: %r" % (run.returncode, run.stderr)
    return "%r stayed" % os.listdir(folder) if os.listdir(folder) else None


def case_equal_scores(g):
    """Of words that are equally likely the leftmost is made first; merges are in one order, which is another rule."""
    words = ["bc", "ab"]
    s = Shape("B", layers=1, vocabulary=FIRST_BYTE + 256 + 3 + len(words), context=64, tied=False)
    meta = scored_vocabulary(g, list("abc"), words)
    meta["tokenizer.ggml.tokens"][-2:] = words
    meta["tokenizer.ggml.scores"][-2:] = [-1.0, -1.0]
    full = models.write_gguf("equal.gguf", Weights(s, g.rng), g.rng, table="F32", head="F32", meta=meta)
    folder = models.path("equal")
    os.makedirs(folder)
    run = subprocess.run([os.environ["TERN_BIN"], "convert", full, os.path.join(folder, "model.safetensors")],
                         capture_output=True, text=True)
    if run.returncode != 1 or "'abc' would become other tokens" not in run.stderr:
        return "%d: %r" % (run.returncode, run.stderr)
    return "%r stayed" % os.listdir(folder) if os.listdir(folder) else None


def case_unsayable_setting(key, value):
    """What config.json cannot say, or what would not run: refused before anything is written."""
    def case(g):
        w = Weights(models.draw_shape(g, "llama"), g.rng)
        full = models.write_gguf("setting.gguf", w, g.rng, "F32", meta={"llama." + key: value(w.shape)})
        folder = models.path("unsayable")
        os.makedirs(folder)
        run = subprocess.run([os.environ["TERN_BIN"], "convert", full, os.path.join(folder, "model.safetensors")],
                             capture_output=True, text=True)
        if run.returncode != 1 or run.stderr.count("\n") != 1:
            return "%d: %r" % (run.returncode, run.stderr)
        return "%r stayed" % os.listdir(folder) if os.listdir(folder) else None
    return case


def case_master_weights(family, kind, name):
    """As floats they would be another model wherever nobody says what they are."""
    def case(g):
        full = make_source(g, (family, "online"))
        folder = models.path("masters")
        os.makedirs(folder)
        run = subprocess.run([os.environ["TERN_BIN"], "convert", full, os.path.join(folder, name), "--type", kind],
                             capture_output=True, text=True)
        if run.returncode != 1 or "master weights" not in run.stderr:
            return "%d: %r" % (run.returncode, run.stderr)
        return "%r stayed" % os.listdir(folder) if os.listdir(folder) else None
    return case


def case_odd_rows(family, kind):
    """Rows that fill no blocks of I2_S, as those of 1bitLLM's 3B: in GGUF they are numbers, and the model is the same."""
    def case(g):
        full, out = make_source(g, (family, kind), width=96, heads=6, kv_heads=3, ff=g.pick([100, 160])), models.path("odd.gguf")
        tern("convert", full, out)
        tokens = g.rng.integers(0, 96, 6)
        error = nmse(models.run(out, tokens), models.run(full, tokens))
        types = {t["type"] for t in json.loads(tern("inspect", out, "--json"))["types"]}
        return ["NMSE %.1e" % error] * (error > 0) + ["types %s" % types] * (not types & {"Q8_0", "F16"})
    return case


def case_same_masters(family, kind):
    """In safetensors a config.json says what they are: the same model, in files of another type."""
    def case(g):
        full = make_source(g, (family, "online"))
        folder = models.path("masters")
        os.makedirs(folder)
        out = os.path.join(folder, "model.safetensors")
        tern("convert", full, out, "--type", kind)
        tokens = g.rng.integers(0, 96, 6)
        error = nmse(models.run(out, tokens), models.run(full, tokens))
        return "NMSE %.1e" % error if error > 0 else None
    return case


def case_masters_said(g):
    """What master weights lose as ternary ones is told, and that loading them loses it as well."""
    full = make_source(g, ("B", "online"))
    out = models.path("said.gguf")
    said = tern("convert", full, out)
    data = json.loads(tern("convert", full, out, "--json"))
    linears = [t for t in data["tensors"] if t["name"].startswith("blk.") and "norm" not in t["name"]]
    tokens = g.rng.integers(0, 96, 6)
    error = nmse(models.run(out, tokens), models.run(full, tokens))
    found = ["NMSE %.1e" % error] if error > models.MOST else []
    found += [] if "the model is the same" in said else [said]
    return found + [t["name"] for t in linears if not t["as_loaded"] or t["lossless"] or not 1 < t["sqnr_db"] < 20]


def case_ternary_numbers(family, kind):
    """-s, 0 and s as numbers in safetensors are what no other program reads: refused by name, unless forced."""
    def case(g):
        full, found = make_source(g, (family, "I2_S")), []
        folder = models.path("numbers")
        os.makedirs(folder)
        out = os.path.join(folder, "model.safetensors")
        run = subprocess.run([os.environ["TERN_BIN"], "convert", full, out, "--type", kind], capture_output=True, text=True)
        if run.returncode != 1 or "only Tern" not in run.stderr or "hf_t2" not in run.stderr or os.listdir(folder):
            found.append("%d %r %r" % (run.returncode, run.stderr, os.listdir(folder)))
        tern("convert", full, out, "--type", kind, "--force")
        tokens = g.rng.integers(0, 96, 6)
        error = nmse(models.run(out, tokens), models.run(full, tokens))
        return found + (["forced: NMSE %.1e" % error] if error > (models.MOST if family == "C" else 0) else [])
    return case


def case_packed_by_default(g):
    """A BitNet whose weights are stored as f32: packed, with a config.json that says so. Master weights stay master weights."""
    found = []
    for source, options, kind, mode in ((("B", "F32"), [], "U8", "offline"), (("B", "online"), ["--type", "bf16"], "BF16", "online")):
        folder = models.path("packed")
        os.makedirs(folder)
        out = os.path.join(folder, "model.safetensors")
        tern("convert", make_source(g, source), out, *options)
        with open(out, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        with open(os.path.join(folder, "config.json")) as file:
            said = json.load(file).get("quantization_config", {}).get("quantization_mode")
        got = header["model.layers.0.self_attn.q_proj.weight"]["dtype"], said
        found += ["%s: %s" % (source, got)] if got != (kind, mode) else []
    return found


def case_same_tokens(g):
    """The tokenizer of a GGUF file goes to tokenizer.json and back."""
    full, _ = make_model(g)
    folder = models.path("tokens")
    os.makedirs(folder)
    tern("convert", full, os.path.join(folder, "model.safetensors"))
    tern("convert", os.path.join(folder, "model.safetensors"), os.path.join(folder, "back.gguf"))
    text = draw_text(g, 10) + " \u00e9\u4e16 x"
    ids = [tern("tokenize", "-m", name, "-p", text, "--ids") for name in
           (full, folder, os.path.join(folder, "back.gguf"))]
    return None if ids[0] == ids[1] == ids[2] else "%r" % ids


def conversions():
    steps = [("@safetensors", "i2_s@gguf"), ("tq2_0@gguf", "@safetensors"), ("tq1_0@gguf", "hf_t2@safetensors"),
             ("hf_t2@safetensors", "@safetensors"), ("i2_s@gguf", "tq2_0@gguf")]
    sources = [(family, kind) for family in "ABC" for kind in ("I2_S", "TQ1_0", "packed", "online")]
    cases = [case_converted(source, *steps[(i + k) % len(steps)]) for i, source in enumerate(sources) for k in (0, 2)]
    cases += [case_converted((family, "I2_S"), "f32@safetensors", "@gguf") for family in "AB"]
    cases += [case_converted((family, "F32"), "@safetensors", "i2_s@gguf") for family in "AB"]
    cases += [case_converted(("llama", kind), "@safetensors", "f32@gguf") for kind in ("F32", "Q8_0", "Q6_K")]
    cases += [case_converted(("C", kind), "f32@safetensors", "i2_s@gguf") for kind in ("I2_S", "TQ2_0")]
    cases += [case_converted((family, "online"), kind + "@gguf", "i2_s@gguf") for family in "AB" for kind in ("f32", "f16", "bf16", "q8_0")]
    cases += [case_converted((family, source), kind + "@gguf", "@safetensors") for family, source in (("A", "online"), ("B", "I2_S"))
              for kind in ("q4_0", "q4_k", "q6_k")]
    cases += [case_odd_rows(family, kind) for family in "AB" for kind in ("online", "packed")]
    settings = [case_unsayable_setting("rope.dimension_count", lambda s: s.head_width // 2),
                case_unsayable_setting("rope.scaling.factor", lambda s: 4.0),
                case_master_weights("C", "bf16", "model.gguf"), case_master_weights("C", "f32", "model.gguf"),
                case_same_masters("A", "f32"), case_same_masters("C", "f32"), case_same_masters("C", "bf16"), case_masters_said,
                case_ternary_numbers("B", "bf16"), case_ternary_numbers("A", "f32"), case_ternary_numbers("C", "f32"),
                case_packed_by_default]
    return [("converted", i, case) for i, case in enumerate(cases + [case_same_tokens] + 4 * [case_scored_tokens] + [case_unsayable_tokens, case_equal_scores] + settings)]


def all_cases():
    kinds = [("logprobs", case_logprobs, 4), ("parallel", case_parallel, 3), ("perplexity", case_perplexity, 4),
             ("chat", case_chat, 3), ("chat", case_chat_context, 1), ("terminal", case_terminal, 1),
             ("terminal", case_interrupt, 1), ("stops", case_stops, 4), ("terminal", case_terminal_characters, 1),
             ("terminal", case_waits, 1), ("terminal", case_commands_in_texts, 1), ("terminal", case_hidden_answers, 1), ("interrupt", case_interrupted_prompt(signal.SIGINT), 1),
             ("interrupt", case_interrupted_prompt(signal.SIGTERM), 1), ("interrupt", case_interrupted_message, 1),
             ("interrupt", case_interrupts, 1), ("ends", case_ends, 1), ("json", case_zero_bytes, 1), ("head", case_head, 1)] + \
            [("streams", case_streams, 1), ("streams", case_cut_while_mapped, 1), ("terminal", case_bars, 1)] + \
            [("interrupt", case_ended_at_the_prompt(number), 1) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    return [(name, 100 * i + k, function) for i, (name, function, count) in enumerate(kinds) for k in range(count)] + \
        conversions()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tern-models-") as folder:
        models.state["folder"] = folder
        harness.main(all_cases(), models.setup)
