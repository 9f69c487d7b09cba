"""Rows of threads on the page: calls of the operating system, states, CPU samples, one stack; where findings about them lead."""

import browser
import page_reader

MS = 1_000_000
HEAD = """chunk pid=7 host=5
process start_ns=100 pid=7 parent_pid=6 name="app" command_line="./app" host="box" tracer_version="0.2.0"
device name="NVIDIA H200" uuid="GPU-1" sm_count=132 pcie_generation=5 pcie_lanes=16
context context=1 null_stream=7
thread tid=70 name="main"
thread tid=71 name="loader"
"""
COLLECTOR = """chunk pid=99 host=5 collector=1
module time_ns=90 id=1 pid=7 module_kind=1 path="/usr/lib/libwork.so" build_id="c0ffee" address=4096 size_bytes=8192
module time_ns=95 id=2 pid=7 module_kind=2 path="train.py" name="step" first_line=10 line_table="\\x80\\x00" python_version=779
frame id=1 module=1 offset=256
frame id=2 module=2 offset=12
stack id=1 frame=2
stack id=2 parent=1 frame=1
symbol frame=1 name="_Z6decodei" file="work.cpp" line=33
"""
STEPS = 8


def host_trace():
    """Each step launches a kernel and waits for it, waits for a lock (one step longest of all), and is preempted once."""
    lines, outside = [HEAD], [COLLECTOR]
    for i in range(STEPS):
        at = (i + 1) * 10 * MS
        lines += [f"api start_ns={at} duration_ns=5000 tid=70 correlation={i + 1} function=\"cudaLaunchKernel\" domain=1",
                  f"kernel start_ns={at + 8000} duration_ns={2 * MS} context=1 stream=7 correlation={i + 1} name=\"train\"",
                  f"api start_ns={at + 6000} duration_ns={2 * MS + 4000} tid=70 correlation={100 + i} function=\"cudaDeviceSynchronize\" domain=1"]
        lock_ns = 5 * MS if i == 4 else 4 * MS
        lines.append(f"os_call start_ns={at + 2 * MS + 20000} duration_ns={lock_ns} tid=70 function=\"pthread_mutex_lock\" object_kind=1 object=3 other_tid=71")
        lines.append(f"os_call start_ns={at + 1000} duration_ns={9 * MS} tid=71 function=\"read\" object_kind=10 object=6 path=\"/data/a.bin\" size_bytes=4096 result=4096")
        outside += [f"switch start_ns={at + 2 * MS + 20000} duration_ns={lock_ns} pid=7 tid=70 cpu=4",
                    f"switch start_ns={at + 8 * MS} duration_ns={MS} pid=7 tid=70 cpu=4 is_preempted=1",
                    f"cpu_sample time_ns={at + 7 * MS + 500000} pid=7 tid=70 stack=2 weight_ns={MS} cpu=3 sample_kind=1"]
    return browser.assemble("host", "\n".join(lines) + "\nend time_ns=200000000 reason=1\n" + "\n".join(outside) + "\n")


def page():
    return browser.report_page(host_trace())


class Host(browser.Case):
    def show(self, query):
        """The first match of a filter, selected."""
        self.open(page(), f"#tab=timeline&q={query}")
        self.wait("return document.querySelector('.tl-count')?.textContent.includes('match')")
        self.click(".tl-steps button", "›")
        return self.selected()

    def test_every_record_is_on_its_thread(self):
        timeline = page_reader.read(page()).timelines[0]
        self.assertEqual(len(timeline.of_tracks("os")), 2 * STEPS)
        self.assertEqual(len(timeline.of_tracks("samples")), STEPS)
        states = [event["kind"] for event in timeline.of_tracks("states")]
        self.assertEqual((states.count("thread_blocked"), states.count("thread_preempted")), (STEPS, STEPS))
        tracks = timeline.description["tracks"]
        labels = [track["label"] for track in tracks if track["parent"] >= 0 and tracks[track["parent"]]["label"] == "thread 70 main"]
        self.assertEqual(labels, ["CUDA API", "OS calls", "thread state", "CPU samples"])
        self.assertEqual([track["is_folded"] for track in tracks if track["label"] == "thread 71 loader"], [True])

    def test_the_legend_has_every_kind(self):
        self.open(page(), "#tab=timeline")
        legend = self.text(".tl-legend")
        for word in ("operating system call", "thread running", "thread preempted", "thread blocked", "CPU sample"):
            self.assertIn(word, legend)

    def test_a_call_says_what_it_waited_for(self):
        text = self.show("kind:os%20object:%22mutex%203%22")
        for words in ("pthread_mutex_lock", "mutex 3", "loader (71)", "4.00 ms", "Thread blocked"):
            self.assertIn(words, text)

    def test_a_sample_has_its_stack(self):
        text = self.show("kind:sample")
        self.assertIn("decode(int)", text)
        self.assertLess(text.index("decode(int)"), text.index("step (train.py:"))
        self.assertIn("CPU 2", text)  # the record counts from 1

    def test_a_finding_leads_to_the_wait_that_held_up_the_gpu(self):
        self.open(page())
        finding = self.element(".finding", "mutex 3")
        self.js("arguments[0].querySelector('button.go, button.plain').click()", finding)
        text = self.selected()
        self.assertIn("pthread_mutex_lock", text)
        self.assertIn("5.00 ms", text)

    def test_idle_time_leads_to_the_call(self):
        text = self.show("cause:os")
        self.assertIn("Blocked in", text)
        self.click(".tl-link", "pthread_mutex_lock")
        self.wait("return document.querySelector('.tl-details h2')?.textContent === 'pthread_mutex_lock'")


if __name__ == "__main__":
    browser.main()
