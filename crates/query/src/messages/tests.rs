use super::*;
use crate::fixture::{TimedActivity, analysed, analysed_with, begin, complete, message};
use kymo_model::timeline::Window;

fn send(time: i64, from: usize, to: Option<usize>, peer_time: Option<i64>) -> TimedActivity {
    (time, from, Activity::Send(message("M", to, peer_time)))
}

fn receive(time: i64, to: usize, from: Option<usize>, peer_time: Option<i64>) -> TimedActivity {
    (time, to, Activity::Receive(message("M", from, peer_time)))
}

fn found(told: Vec<TimedActivity>) -> Vec<(Option<usize>, Option<usize>, Pair)> {
    let mut messages = Messages::new();
    analysed(told, Window::default(), &mut messages);
    let number = |track: Option<TrackId>| track.map(|track| track.0);
    let pairs = messages.pairs();
    pairs.iter().map(|(key, item)| (number(key.from), number(key.to), (*item).clone())).collect()
}

#[test]
fn messages_arrive_in_the_order_they_left() {
    let told = vec![
        send(0, 1, Some(2), None),
        send(10, 1, Some(2), None),
        receive(13, 2, Some(1), None),
        receive(17, 2, Some(1), None),
        send(20, 1, Some(2), None),
    ];
    let found = found(told);
    let (from, to, pair) = &found[0];
    assert_eq!((*from, *to, found.len()), (Some(1), Some(2), 1));
    assert_eq!((pair.sent, pair.received, pair.unreceived(), pair.unsent), (3, 2, 1, 0));
    assert_eq!((pair.latency_ns.min(), pair.latency_ns.max()), (Some(7), Some(13)));
}

#[test]
fn what_says_when_it_left_is_believed() {
    let told = vec![
        send(0, 1, Some(2), Some(30)),
        send(10, 1, Some(2), Some(12)),
        receive(12, 2, Some(1), Some(10)),
        receive(30, 2, Some(1), Some(0)),
        // This one left before the recording.
        receive(31, 2, Some(1), Some(-5)),
    ];
    let (_, _, pair) = &found(told)[0];
    assert_eq!((pair.sent, pair.received, pair.unreceived(), pair.unsent), (2, 3, 0, 1));
    assert_eq!((pair.latency_ns.min(), pair.latency_ns.max()), (Some(2), Some(36)));
}

#[test]
fn what_does_not_tell_its_sender_is_what_waits_longest() {
    let told = vec![
        send(0, 1, Some(3), None),
        send(2, 2, Some(3), None),
        receive(10, 3, None, None),
        receive(11, 3, None, None),
        receive(12, 3, None, None),
    ];
    let found = found(told);
    let latency = |at: usize| (found[at].0, found[at].2.latency_ns.max());
    assert_eq!(
        [latency(0), latency(1), latency(2)],
        [(None, None), (Some(1), Some(10)), (Some(2), Some(9))]
    );
}

#[test]
fn ends_that_do_not_name_each_other_are_matched_by_what_they_say() {
    let told =
        vec![send(0, 1, None, None), receive(5, 2, Some(1), None), receive(6, 2, None, None)];
    let found = found(told);
    assert_eq!((found[0].0, found[0].1), (None, Some(2)));
    assert_eq!((found[0].2.unsent, found[0].2.latency_ns.count()), (1, 0));
    assert_eq!((found[1].0, found[1].1), (Some(1), None));
    assert_eq!(found[1].2.latency_ns.max(), Some(5));
}

#[test]
fn a_million_that_never_arrive_do_not_hide_the_others() {
    let count = i64::try_from(PENDING_MAX).unwrap() + 1000;
    let mut messages = Messages::new();
    for time in 0..count {
        let lost = message("LOST", Some(2), None);
        assert!(messages.send(TrackId(1), TimeNs(time), &lost).is_some());
    }
    for time in (count..count + 2000).step_by(2) {
        let (leaves, arrives) = (message("OK", Some(2), None), message("OK", Some(1), None));
        messages.send(TrackId(1), TimeNs(time), &leaves);
        messages.receive(TrackId(2), TimeNs(time + 1), &arrives);
    }
    let pairs = messages.pairs();
    let (lost, ok) = (pairs[0].1, pairs[1].1);
    assert_eq!((ok.sent, ok.received, ok.unsent, ok.latency_ns.max()), (1000, 1000, 0, Some(1)));
    assert_eq!(lost.unreceived(), u64::try_from(count).unwrap());
    // Of the lost, those were given up that there was no room for: 1000, and one for each other.
    assert_eq!(messages.given_up, 1001);
    // Those that had arrived are forgotten in time.
    assert!(messages.left.len() <= 2 * PENDING_MAX);
}

#[test]
fn a_message_is_found_by_its_time_among_any_number() {
    let mut told: Vec<_> = (0..2000).map(|time| send(time, 1, Some(2), None)).collect();
    told.push(receive(3000, 2, Some(1), Some(1999)));
    let (_, _, pair) = &found(told)[0];
    assert_eq!((pair.unsent, pair.unreceived(), pair.latency_ns.max()), (0, 1999, Some(1001)));
}

#[test]
fn a_task_that_moves_is_one_end() {
    // Task a sends on the one processor and then on the other.
    let told = vec![
        send(0, 1, Some(2), None),
        send(1, 5, Some(2), None),
        receive(2, 2, Some(5), None),
        receive(3, 2, Some(1), None),
    ];
    let found = found(told);
    assert_eq!((found.len(), found[0].0, found[0].2.unsent), (1, Some(1), 0));
    assert_eq!(found[0].2.latency_ns.sum(), 4);
}

#[test]
fn a_sequence_has_what_never_arrives_where_it_left() {
    let told = vec![
        send(0, 1, Some(2), None),
        send(5, 1, Some(3), None),
        receive(7, 2, Some(1), None),
        receive(8, 6, None, None),
    ];
    let mut sequence = Sequence::for_messages(10);
    analysed(told, Window::default(), &mut sequence);
    let found: Vec<_> = sequence
        .transfers()
        .map(|transfer| {
            (
                transfer.from.map(|track_id| track_id.0),
                transfer.to.map(|track_id| track_id.0),
                transfer.left.map(|time_ns| time_ns.0),
                transfer.arrived.map(|time_ns| time_ns.0),
            )
        })
        .collect();
    let expected = [
        (Some(1), Some(2), Some(0), Some(7)),
        (Some(1), Some(3), Some(5), None),
        (None, Some(6), None, Some(8)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn wakeups_go_from_who_runs_where_they_are_made() {
    let wake = |time, whom, cpu| {
        let by = Some(TrackId(cpu));
        (time, whom, Activity::Release { budget_ns: None, by })
    };
    let told: Vec<TimedActivity> = vec![
        // Task b runs on cpu 0 and wakes a, which runs on cpu 1 four later.
        (0, 2, begin(1)),
        (3, 5, wake(3, 5, 0).2),
        (7, 5, begin(1)),
        // An interrupt on cpu 0, which is idle, wakes b, which does not run.
        (8, 2, Activity::End),
        (8, 3, begin(0)),
        wake(9, 2, 0),
    ];
    let mut wakeups = Wakeups::new();
    analysed(told, Window::default(), &mut wakeups);
    let pairs = wakeups.messages().pairs();
    let found: Vec<_> = pairs
        .iter()
        .map(|(key, item)| {
            (key.from.unwrap().0, key.to.unwrap().0, item.latency_ns.max(), item.unreceived())
        })
        .collect();
    // Task a is known by its first track, and an idle processor by its own.
    assert_eq!(found, [(0, 2, None, 1), (2, 1, Some(4), 0)]);
}

#[test]
fn an_interrupt_without_an_end_is_over_when_a_task_begins() {
    let wake = |time, whom| {
        let by = Some(TrackId(0));
        (time, whom, Activity::Release { budget_ns: None, by })
    };
    // On cpu 0 a runs 0–20, and from 10 on an interrupt of which nothing tells the end. Then b runs,
    // wakes a at 30, and a runs 40–60 and wakes k at 50.
    let told: Vec<TimedActivity> = vec![
        (0, 1, begin(1)),
        (10, 0, crate::fixture::named("irq")),
        wake(15, 3),
        (20, 1, Activity::End),
        (20, 2, begin(1)),
        wake(30, 1),
        (40, 2, Activity::End),
        (40, 1, begin(1)),
        wake(50, 7),
        (60, 1, Activity::End),
    ];
    // In the whole and in a part, from who woke whom: the processor, then b, then a.
    for (from, expected) in [(None, vec![(0, 3), (1, 7), (2, 1)]), (Some(25), vec![(1, 7), (2, 1)])]
    {
        let mut wakeups = Wakeups::new();
        let window = Window { from: from.map(TimeNs), ..Window::default() };
        analysed(told.clone(), window, &mut wakeups);
        let ends = |key: &PairKey| (key.from.unwrap().0, key.to.unwrap().0);
        let mut found: Vec<_> =
            wakeups.messages().pairs().iter().map(|(key, _)| ends(key)).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_task_that_is_woken_before_a_window_is_not_woken_again_in_it() {
    let wake = |time| {
        let by = Some(TrackId(4));
        (time, 2, Activity::Release { budget_ns: None, by })
    };
    // Task b is woken at 10 and again at 30, and runs 40–50; it is woken at 60 and runs 70–80.
    let told: Vec<TimedActivity> = vec![
        (0, 2, begin(1)),
        (5, 2, Activity::End),
        wake(10),
        wake(30),
        (40, 2, begin(1)),
        (50, 2, Activity::End),
        wake(60),
        (70, 2, begin(1)),
        (80, 2, Activity::End),
    ];
    // That of 30 is for nothing. In a window from 20 on, that of 10 arrives and did not leave.
    for (from, sent) in [(None, 2), (Some(20), 1)] {
        let mut wakeups = Wakeups::new();
        let window = Window { from: from.map(TimeNs), ..Window::default() };
        analysed(told.clone(), window, &mut wakeups);
        let (_, pair) = wakeups.messages().pairs()[0];
        assert_eq!((pair.sent, pair.received, pair.unsent, pair.unreceived()), (sent, 2, 0, 0));
        assert_eq!((pair.latency_ns.min(), pair.latency_ns.max()), (Some(10), Some(30)));
    }
}

#[test]
fn ends_are_chosen_that_have_messages_with_each_other() {
    // Tracks 1, 2 and 3 have three each: 1 with 3, and 2 with others.
    let told = [(0, 1, 3), (1, 1, 3), (2, 1, 3), (3, 2, 7), (4, 2, 7), (5, 2, 6)];
    let told = told.map(|(time, from, to)| send(time, from, Some(to), None));
    let mut messages = Messages::new();
    analysed(told.to_vec(), Window::default(), &mut messages);
    let ids = |ids: &[usize]| ids.iter().copied().map(TrackId).collect::<BTreeSet<_>>();
    assert_eq!(messages.busiest(2, &|_| true), (ids(&[1, 3]), 3));
    assert_eq!(messages.busiest(4, &|_| true), (ids(&[1, 2, 3, 7]), 1));
}

#[test]
fn the_busiest_ends_are_those_with_most_messages() {
    let mut told: Vec<_> = (0..3).map(|time| send(time, 1, Some(2), None)).collect();
    told.extend([
        send(5, 2, Some(3), None),
        send(6, 3, Some(6), None),
        receive(8, 6, Some(3), None),
    ]);
    let mut messages = Messages::new();
    analysed(told.clone(), Window::default(), &mut messages);
    let ids = |ids: &[usize]| ids.iter().copied().map(TrackId).collect::<BTreeSet<_>>();
    // Track 2 has four, 1 has three, 3 two, 6 one.
    assert_eq!(messages.busiest(2, &|_| true), (ids(&[1, 2]), 2));
    assert_eq!(messages.busiest(2, &|end| end == TrackId(6)), (ids(&[3, 6]), 0));
    let mut sequence = Sequence::for_messages(10).between(ids(&[1, 2]));
    analysed(told.clone(), Window::default(), &mut sequence);
    // That from 2 to 3 and that from 3 to 6 are not between them.
    assert_eq!((sequence.transfers().count(), sequence.other_track_count()), (3, 2));
    let mut sequence = Sequence::for_messages(10).between(ids(&[1, 2, 3])).only_tracks(ids(&[3]));
    analysed(told, Window::default(), &mut sequence);
    let ends: Vec<_> = sequence.transfers().map(|transfer| (transfer.from, transfer.to)).collect();
    assert_eq!(ends, [(Some(TrackId(2)), Some(TrackId(3)))]);
    assert_eq!(sequence.other_track_count(), 1);
}

#[test]
fn who_has_most_is_not_left_out_for_those_who_have_few_with_the_busiest() {
    // 1 sends to 2, 3 and 6 twice each; 9 to 10 three times, and 10 to 1 once.
    let told = [(1, 2), (1, 2), (1, 3), (1, 3), (1, 6), (1, 6), (9, 10), (9, 10), (9, 10), (10, 1)];
    let told = (0..).zip(told);
    let told = told.map(|(time, (from, to))| send(time, from, Some(to), None)).collect();
    let mut messages = Messages::new();
    analysed(told, Window::default(), &mut messages);
    let ids = |ids: &[usize]| ids.iter().copied().map(TrackId).collect::<BTreeSet<_>>();
    // 1 has seven, most of them with 2, 3 and 6; 10 has four and 9 three.
    assert_eq!(messages.busiest(4, &|_| true), (ids(&[1, 2, 9, 10]), 2));
    // Of 3 and 6 alone nothing would be shown: who sends to them is.
    let is_meant = |end| end == TrackId(3) || end == TrackId(6);
    assert_eq!(messages.busiest(2, &is_meant), (ids(&[1, 3]), 1));
    assert_eq!(messages.busiest(3, &is_meant), (ids(&[1, 3, 6]), 0));
}

/// Task k is woken by cpu 1 at 0, runs 1–20, is woken at 10 meanwhile, sleeps; and so on.
#[test]
fn a_wakeup_while_it_runs_is_for_its_next_stretch_if_nothing_else_wakes_it() {
    let wake = |time| {
        let by = Some(TrackId(4));
        (time, 7, Activity::Release { budget_ns: None, by })
    };
    let sleep =
        |time| [(time, 7, Activity::Complete { remaining_ns: None }), (time, 7, Activity::End)];
    let mut told: Vec<TimedActivity> = vec![wake(0), (1, 7, begin(1)), wake(10)];
    told.extend(sleep(20));
    // Another wakes it: that at 10 was for nothing. It is woken at 1019, when it falls asleep.
    told.extend([wake(1000), (1001, 7, begin(1)), wake(1019)]);
    told.extend(sleep(1020));
    told.extend([(1024, 7, begin(1)), wake(1026), (1030, 7, Activity::End)]);
    // It was preempted, so that the wakeup at 1026 was for nothing.
    told.push((1040, 7, begin(1)));
    let mut sequence = Sequence::for_wakeups(10);
    analysed(told, Window::default(), &mut sequence);
    let ns = |time: Option<TimeNs>| time.unwrap().0;
    let found: Vec<_> =
        sequence.transfers().map(|transfer| (ns(transfer.left), ns(transfer.arrived))).collect();
    assert_eq!(found, [(0, 1), (1000, 1001), (1019, 1024)]);
}

#[test]
fn a_time_that_is_told_ends_what_a_lost_message_shifted() {
    // b sends to a at 0, 100, … 500, and each arrives after 1, but for that of 0, which is lost.
    // Those of 200 and 400 say when they left.
    let mut told = vec![(0, 2, Activity::Send(message("m", Some(1), None)))];
    for time in [100, 200, 300, 400, 500] {
        told.push((time, 2, Activity::Send(message("m", Some(1), None))));
        let left = [200, 400].contains(&time).then_some(time);
        told.push((time + 1, 1, Activity::Receive(message("m", Some(2), left))));
    }
    let mut messages = Messages::new();
    analysed(told, Window::default(), &mut messages);
    let (_, pair) = messages.pairs()[0];
    // Until the first that is told, that of 0 is taken for the one that arrives at 101.
    assert_eq!((pair.sent, pair.received, pair.unsent, pair.unreceived()), (6, 5, 0, 1));
    let latency = &pair.latency_ns;
    assert_eq!((latency.min(), latency.max(), latency.mean()), (Some(1), Some(101), Some(21)));
    assert_eq!((pair.guessed, pair.may_be_too_long()), (3, true));
}

#[test]
fn messages_that_tell_their_times_may_overtake_each_other() {
    // Sent at 0 and 10, they arrive the other way round, at 20 and 30.
    let told = vec![
        (0, 2, Activity::Send(message("m", Some(1), None))),
        (10, 2, Activity::Send(message("m", Some(1), None))),
        (20, 1, Activity::Receive(message("m", Some(2), Some(10)))),
        (30, 1, Activity::Receive(message("m", Some(2), Some(0)))),
    ];
    let mut messages = Messages::new();
    analysed(told, Window::default(), &mut messages);
    let (_, pair) = messages.pairs()[0];
    assert_eq!((pair.unsent, pair.unreceived(), pair.may_be_too_long()), (0, 0, false));
    assert_eq!((pair.latency_ns.min(), pair.latency_ns.max()), (Some(10), Some(30)));
}

#[test]
fn what_tells_when_it_arrives_has_arrived() {
    // Sent at 0, 5, … 45, each arrives after 3, as its sender says; nobody else does.
    let told = (0..10).map(|at| send(at * 5, 1, Some(2), Some(at * 5 + 3))).collect();
    let (_, _, pair) = &found(told)[0];
    assert_eq!((pair.sent, pair.received, pair.unreceived(), pair.unsent), (10, 10, 0, 0));
    let latency = &pair.latency_ns;
    assert_eq!((latency.count(), latency.min(), latency.max()), (10, Some(3), Some(3)));
}

#[test]
fn what_both_ends_tell_of_counts_once() {
    let told = vec![
        // They overtake each other, and the receiver says neither who sent them nor when.
        send(0, 1, Some(2), Some(30)),
        send(10, 1, Some(2), Some(12)),
        receive(12, 2, None, None),
        receive(30, 2, Some(1), None),
        // The receiver knows better when it arrived.
        send(40, 1, Some(2), Some(70)),
        receive(80, 2, Some(1), Some(40)),
        // One that does not say when it arrives, beside one that does and is not told of again.
        send(100, 1, Some(2), Some(150)),
        send(101, 1, Some(2), None),
        receive(108, 2, Some(1), None),
    ];
    let found = found(told);
    let (_, _, pair) = &found[0];
    assert_eq!((found.len(), pair.sent, pair.received, pair.unsent), (1, 5, 5, 0));
    // 2, 30, 40, 7, and 50 of the one that is told of once.
    assert_eq!((pair.unreceived(), pair.latency_ns.sum(), pair.guessed), (0, 129, 1));
    assert_eq!((pair.latency_ns.min(), pair.latency_ns.max()), (Some(2), Some(50)));
}

#[test]
fn any_number_may_tell_when_they_arrive() {
    let count = i64::try_from(ARRIVING_MAX).unwrap() + 1000;
    let mut messages = Messages::new();
    for time in 0..count {
        let arrives = message("M", Some(2), Some(time + 2));
        assert!(messages.send(TrackId(1), TimeNs(time), &arrives).is_some());
    }
    assert_eq!(messages.arriving, ARRIVING_MAX);
    let (_, pair) = messages.pairs()[0];
    // The first thousand are not waited for any more.
    assert_eq!((pair.received, pair.latency_ns.max()), (1000, Some(2)));
}

#[test]
fn a_pair_that_told_very_much_spoils_no_other() {
    // More than are kept tell when they arrive and nobody tells it again; then a thousand of
    // another pair, each of which both ends tell of.
    let many = i64::try_from(ARRIVING_MAX).unwrap() + 1000;
    let mut told: Vec<_> =
        (0..many).map(|at| send(at * 10, 1, Some(2), Some(at * 10 + 3))).collect();
    for time in (many..many + 1000).map(|at| at * 10) {
        told.push(send(time, 1, Some(3), Some(time + 3)));
        told.push(receive(time + 3, 3, Some(1), Some(time)));
    }
    let mut messages = Messages::new();
    let (_, short) = analysed_with(told, Window::default(), &mut messages);
    let pairs = messages.pairs();
    let counts =
        |(_, pair): &(_, &Pair)| (pair.sent, pair.received, pair.unsent, pair.unreceived());
    let many = u64::try_from(many).unwrap();
    assert_eq!(
        pairs.iter().map(counts).collect::<Vec<_>>(),
        [(many, many, 0, 0), (1000, 1000, 0, 0)]
    );
    assert!(short.left_out.is_empty() && messages.due.len() <= 2 * ARRIVING_MAX + 1);
}

#[test]
fn what_is_told_again_when_it_is_no_longer_waited_for_counts_once_and_is_said() {
    // So many are under way at once that the first thousand cannot be waited for. Receivers say
    // when they left, or only who sent them, or nothing at all.
    for says in 0..3 {
        let (kept, many) = (ARRIVING_MAX as u64, ARRIVING_MAX as u64 + 1000);
        let ends = i64::try_from(many).unwrap();
        let mut told: Vec<_> = (0..ends).map(|at| send(at, 1, Some(2), Some(at + ends))).collect();
        told.extend((0..ends).map(|at| {
            let (from, left) = ((says < 2).then_some(1), (says == 0).then_some(at));
            receive(at + ends, 2, from, left)
        }));
        let mut messages = Messages::new();
        let (_, short) = analysed_with(told, Window::default(), &mut messages);
        let pairs = messages.pairs();
        let (_, pair) = pairs[0];
        assert_eq!((pairs.len(), pair.sent, pair.received, pair.unsent), (1, many, many, 0));
        assert_eq!((pair.unreceived(), pair.latency_ns.count()), (0, many));
        assert_eq!((short.left_out.len(), short.left_out[0].count), (1, many - kept));
    }
}

#[test]
fn any_number_of_senders_is_found_without_a_word_of_who_they_are() {
    // Each of 60,000 sends once, in turn; then so many arrive, in that order.
    let count = 60_000;
    let mut messages = Messages::new();
    for at in 0..count {
        let time = TimeNs(i64::try_from(at).unwrap());
        messages.send(TrackId(10 + at), time, &message("M", Some(1), None));
    }
    for at in 0..count {
        let time = TimeNs(i64::try_from(count + at).unwrap());
        let sent = messages.receive(TrackId(1), time, &message("M", None, None));
        assert_eq!(sent.from, Some(TrackId(10 + at)));
    }
    let sum =
        |item: fn(&Pair) -> u64| messages.pairs().iter().map(|(_, pair)| item(pair)).sum::<u64>();
    assert_eq!(
        (
            sum(|this_pair| this_pair.received),
            sum(|this_pair| this_pair.unsent),
            sum(Pair::unreceived)
        ),
        (60_000, 0, 0)
    );
}

/// Sent every 10 from 0 on, so many, and each arrives 15 later; nobody says when the other end was.
fn in_flight(count: i64) -> Vec<TimedActivity> {
    let ends = |at| [send(at * 10, 1, Some(2), None), receive(at * 10 + 15, 2, Some(1), None)];
    let mut told: Vec<_> = (0..count).flat_map(ends).collect();
    told.sort_by_key(|(time, track, _)| (*time, *track));
    told
}

/// The pair within a window, and what is doubtful.
fn pair_in_window(told: Vec<TimedActivity>, from: i64, until: i64) -> (Pair, LatencyCaveats) {
    let mut messages = Messages::new();
    let (from, until) = (Some(TimeNs(from)), Some(TimeNs(until)));
    analysed_with(told, Window { from, until, ..Window::default() }, &mut messages);
    let pair = messages.pairs()[0].1.clone();
    (pair, messages.latency_caveats(|_| true))
}

#[test]
fn what_is_under_way_when_a_window_begins_arrives_in_it() {
    // Two are under way at 12, and one at 18. From then on those leave of 20 … 70, or of 80 too,
    // and those arrive of 0, or 10, … 60.
    for (from, until, sent, received) in [(12, 80, 6, 7), (18, 81, 7, 6)] {
        let (pair, doubts) = pair_in_window(in_flight(10), from, until);
        assert_eq!((pair.sent, pair.received, pair.unsent), (sent, received, 0));
        assert_eq!((pair.latency_ns.min(), pair.latency_ns.max()), (Some(15), Some(15)));
        assert_eq!((pair.unreceived(), doubts), (0, LatencyCaveats::default()));
    }
}

#[test]
fn a_window_shows_what_arrives_in_it_with_when_it_left() {
    let mut sequence = Sequence::for_messages(3);
    let (from, until) = (Some(TimeNs(12)), Some(TimeNs(30)));
    analysed(in_flight(10), Window { from, until, ..Window::default() }, &mut sequence);
    let transfers = sequence.transfers();
    let found: Vec<_> = transfers.map(|transfer| (transfer.left, transfer.arrived)).collect();
    let time = |ns| Some(TimeNs(ns));
    let expected = [(0, 15), (10, 25), (20, 35)];
    assert_eq!(found, expected.map(|(left, arrived)| (time(left), time(arrived))));
}

#[test]
fn latencies_are_doubtful_where_it_is_not_known_what_was_under_way() {
    // There are more messages before the window than are looked at.
    let (begin, count) = (2_000_000, 200_100);
    let (_, doubts) = pair_in_window(in_flight(count), begin, begin + 500);
    assert_eq!(doubts.too_short, 1);
    // A recording that begins with one that did not leave.
    let mut messages = Messages::new();
    let cut = in_flight(10).into_iter().filter(|(time, ..)| *time > 12).collect();
    analysed(cut, Window::default(), &mut messages);
    let doubts = messages.latency_caveats(|_| true);
    assert_eq!(doubts, LatencyCaveats { too_short: 1, ..LatencyCaveats::default() });
    assert_eq!(messages.latency_caveats(|key| key.name == "other"), LatencyCaveats::default());
    // Where they say when they left, nothing is doubtful.
    let told = (0..count).flat_map(|at| {
        let left = at * 10;
        [send(left, 1, Some(2), None), receive(left + 5, 2, Some(1), Some(left))]
    });
    let (pair, doubts) = pair_in_window(told.collect(), begin, begin + 500);
    assert_eq!((doubts, pair.latency_ns.max()), (LatencyCaveats::default(), Some(5)));
}

#[test]
fn what_may_have_left_before_what_is_looked_at_is_not_simply_unsent() {
    // The first arrives last. Between that there are more messages than are looked back at.
    let between = (1..200_000).flat_map(|at| {
        let left = at * 10;
        [send(left, 1, Some(3), None), receive(left + 5, 3, Some(1), Some(left))]
    });
    let mut told = vec![send(0, 1, Some(2), None)];
    told.extend(between);
    told.push(receive(2_000_010, 2, Some(1), None));
    let found = |from| {
        let mut messages = Messages::new();
        let window = Window { from: Some(TimeNs(from)), ..Window::default() };
        analysed_with(told.clone(), window, &mut messages);
        let pairs = messages.pairs();
        let (_, pair) = pairs.iter().find(|(key, _)| key.to == Some(TrackId(2))).unwrap();
        (pair.unsent, pair.latency_ns.max(), messages.latency_caveats(|_| true))
    };
    assert_eq!(
        found(1_999_000),
        (1, None, LatencyCaveats { unsent: 1, ..LatencyCaveats::default() })
    );
    assert_eq!(found(500), (0, Some(2_000_010), LatencyCaveats::default()));
}

#[test]
fn a_sequence_has_what_says_when_it_left_where_it_did() {
    // That which left at 5 was not seen to, and says so when it arrives.
    let told = vec![
        send(10, 1, Some(2), None),
        send(20, 1, Some(2), None),
        receive(25, 2, Some(1), Some(10)),
        receive(30, 3, Some(1), Some(5)),
        receive(40, 2, Some(1), Some(20)),
    ];
    let all = [(5, 30), (10, 25), (20, 40)];
    for (most, more) in [(3, 0), (2, 1), (1, 2)] {
        let mut sequence = Sequence::for_messages(most);
        analysed_with(told.clone(), Window::default(), &mut sequence);
        let ns = |time: Option<TimeNs>| time.unwrap().0;
        let found: Vec<_> = sequence
            .transfers()
            .map(|transfer| (ns(transfer.left), ns(transfer.arrived)))
            .collect();
        assert_eq!((&found[..], sequence.omitted_count()), (&all[..most], more));
        assert!(!sequence.awaits());
    }
}

#[test]
fn a_wakeup_does_not_arrive_with_a_later_stretch_than_its_own() {
    // Task b runs on cpu 0 and wakes k, which stops at 50 though nothing told that it ran, and runs
    // again at 60. It ran for what it was woken for, whenever that began.
    let wake = Activity::Release { budget_ns: None, by: Some(TrackId(2)) };
    let told = vec![
        (0, 2, begin(1)),
        (1, 7, wake),
        (50, 7, Activity::End),
        (60, 7, begin(1)),
        (70, 7, Activity::End),
    ];
    let mut wakeups = Wakeups::new();
    analysed_with(told, Window::default(), &mut wakeups);
    let (_, pair) = wakeups.messages().pairs()[0];
    assert_eq!((pair.sent, pair.received, pair.latency_ns.count()), (1, 1, 0));
    assert_eq!((pair.unreceived(), pair.untimed), (0, 1));
}

/// A timer wakes k every 10, which runs from 1 after that to 2; the third time its begin is missing.
fn woken_without_a_begin() -> Vec<TimedActivity> {
    let wake = || Activity::Release { budget_ns: None, by: Some(TrackId(0)) };
    let job = |at: i64| {
        let (woken, ends) = (at * 10, at * 10 + 2);
        vec![
            (woken, 7, wake()),
            (woken + 1, 3, Activity::End),
            (woken + 1, 7, begin(1)),
            (ends, 7, complete(None)),
            (ends, 7, Activity::End),
            (ends, 3, begin(1)),
        ]
    };
    let mut told = vec![(-5, 3, begin(1))];
    told.extend((0..4).flat_map(job));
    told.retain(|(time, ..)| *time != 21);
    told
}

#[test]
fn a_wakeup_whose_job_is_complete_is_not_lost() {
    let mut wakeups = Wakeups::new();
    analysed_with(woken_without_a_begin(), Window::default(), &mut wakeups);
    let (_, pair) = wakeups.messages().pairs()[0];
    assert_eq!((pair.sent, pair.received, pair.unreceived(), pair.untimed), (4, 4, 0, 1));
    assert_eq!((pair.latency_ns.count(), pair.latency_ns.max()), (3, Some(1)));
    let doubts = wakeups.messages().latency_caveats(|_| true);
    assert_eq!(doubts, LatencyCaveats { untimed: 1, ..LatencyCaveats::default() });
    let mut sequence = Sequence::for_wakeups(9);
    analysed_with(woken_without_a_begin(), Window::default(), &mut sequence);
    let found: Vec<_> =
        sequence.transfers().map(|transfer| (transfer.arrived, transfer.is_lost)).collect();
    let at = |ns| (Some(TimeNs(ns)), false);
    assert_eq!(found, [at(1), at(11), (None, false), at(31)]);
}

#[test]
fn a_wakeup_whose_job_is_complete_after_a_window_is_not_lost() {
    // It is woken at 20, and the window ends at 21.
    let window = || Window { until: Some(TimeNs(21)), ..Window::default() };
    let mut wakeups = Wakeups::new();
    analysed_with(woken_without_a_begin(), window(), &mut wakeups);
    let (_, pair) = wakeups.messages().pairs()[0];
    assert_eq!((pair.sent, pair.received, pair.unreceived(), pair.untimed), (3, 2, 0, 0));
    let mut sequence = Sequence::for_wakeups(9);
    analysed_with(woken_without_a_begin(), window(), &mut sequence);
    assert!(sequence.transfers().all(|transfer| !transfer.is_lost));
}

#[test]
fn a_wakeup_after_a_completion_without_a_begin_is_for_the_next_stretch() {
    // Woken at 0, complete at 10 and woken again before it stops at 12; runs from 15 on.
    let wake = || Activity::Release { budget_ns: None, by: Some(TrackId(0)) };
    let told = vec![
        (0, 2, wake()),
        (10, 2, complete(None)),
        (11, 2, wake()),
        (12, 2, Activity::End),
        (15, 2, begin(1)),
        (20, 2, complete(None)),
        (20, 2, Activity::End),
    ];
    let mut wakeups = Wakeups::new();
    analysed_with(told, Window::default(), &mut wakeups);
    let (_, pair) = wakeups.messages().pairs()[0];
    assert_eq!((pair.sent, pair.received, pair.unreceived(), pair.untimed), (2, 2, 0, 1));
    assert_eq!((pair.latency_ns.count(), pair.latency_ns.max()), (1, Some(4)));
}

#[test]
fn what_stops_before_it_is_said_to_be_complete_has_run_for_its_wakeup() {
    // Runs 1–5 and is complete then. Woken at 10, preempted at 20 without a begin; goes on at 30.
    let wake = || Activity::Release { budget_ns: None, by: Some(TrackId(0)) };
    let told = vec![
        (0, 2, wake()),
        (1, 2, begin(1)),
        (5, 2, Activity::End),
        (5, 2, complete(None)),
        (10, 2, wake()),
        (20, 2, Activity::End),
        (30, 2, begin(1)),
    ];
    let mut wakeups = Wakeups::new();
    analysed_with(told, Window::default(), &mut wakeups);
    let (_, pair) = wakeups.messages().pairs()[0];
    assert_eq!((pair.sent, pair.received, pair.unreceived(), pair.untimed), (2, 2, 0, 1));
    assert_eq!((pair.latency_ns.count(), pair.latency_ns.max()), (1, Some(1)));
}

#[test]
fn a_wakeup_that_nothing_follows_is_lost() {
    let wake = Activity::Release { budget_ns: None, by: Some(TrackId(0)) };
    let told = vec![(0, 3, begin(1)), (1, 7, wake), (50, 3, Activity::End)];
    let mut wakeups = Wakeups::new();
    analysed(told, Window::default(), &mut wakeups);
    assert_eq!(wakeups.messages().pairs()[0].1.unreceived(), 1);
}

#[test]
fn what_arrives_after_a_window_is_not_lost() {
    let (pair, doubts) = pair_in_window(in_flight(10), 12, 80);
    assert_eq!((pair.sent, pair.received, pair.unreceived()), (6, 7, 0));
    assert_eq!((pair.latency_ns.count(), pair.latency_ns.max()), (7, Some(15)));
    assert_eq!(doubts, LatencyCaveats::default());
    // One that never arrives is lost all the same.
    let told = vec![send(5, 1, Some(2), None), (6, 1, begin(1)), (90, 1, Activity::End)];
    assert_eq!(pair_in_window(told, 0, 50).0.unreceived(), 1);
}

#[test]
fn what_arrives_before_it_left_has_no_latency() {
    // By its sender, by its receiver, and by both; the last takes 10.
    let told = vec![
        send(20, 1, Some(2), Some(15)),
        send(30, 1, Some(2), None),
        receive(25, 2, Some(1), Some(30)),
        send(40, 1, Some(2), Some(38)),
        receive(38, 2, Some(1), Some(40)),
        send(50, 1, Some(2), None),
        receive(60, 2, Some(1), Some(50)),
    ];
    let mut messages = Messages::new();
    analysed(told, Window::default(), &mut messages);
    let (_, pair) = messages.pairs()[0];
    assert_eq!((pair.sent, pair.received, pair.unreceived(), pair.unsent), (4, 4, 0, 0));
    assert_eq!((pair.latency_ns.count(), pair.latency_ns.min()), (1, Some(10)));
    assert_eq!(
        messages.latency_caveats(|_| true),
        LatencyCaveats { backwards: 3, ..LatencyCaveats::default() }
    );
}

/// What counts of messages from a moment to another, `sent`, `received`, lost and latencies.
fn counted(
    told: Vec<TimedActivity>,
    from: Option<i64>,
    until: Option<i64>,
) -> (u64, u64, u64, u64) {
    let (from, until) = (from.map(TimeNs), until.map(TimeNs));
    let mut messages = Messages::new();
    analysed_with(told, Window { from, until, ..Window::default() }, &mut messages);
    let pairs = messages.pairs();
    let sum = |item: fn(&Pair) -> u64| pairs.iter().map(|(_, pair)| item(pair)).sum();
    (
        sum(|pair| pair.sent),
        sum(|pair| pair.received),
        sum(Pair::unreceived),
        sum(|pair| pair.latency_ns.count()),
    )
}

#[test]
fn what_arrives_after_a_window_is_received_in_the_next_whoever_tells_it() {
    let end = (1000, 1, Activity::End);
    for (told, receives) in [(None, true), (Some(300), true), (Some(300), false)] {
        let mut all = vec![send(100, 2, Some(1), told)];
        all.extend(receives.then(|| receive(300, 1, Some(2), None)));
        all.push(end.clone());
        let within = |from, until| counted(all.clone(), from, until);
        assert_eq!(within(None, Some(200)), (1, 0, 0, 0), "{told:?} {receives}");
        assert_eq!(within(Some(200), None), (0, 1, 0, 1), "{told:?} {receives}");
        assert_eq!(within(Some(200), Some(300)), (0, 0, 0, 0), "{told:?} {receives}");
        assert_eq!(within(Some(350), None), (0, 0, 0, 0), "{told:?} {receives}");
        assert_eq!(within(None, None), (1, 1, 0, 1), "{told:?} {receives}");
    }
    // Ends that do not agree on when: it counts where its sender told.
    let all = vec![send(100, 2, Some(1), Some(300)), receive(305, 1, Some(2), Some(100)), end];
    let within = |from, until| counted(all.clone(), from, until);
    assert_eq!(within(None, Some(302)), (1, 1, 0, 1));
    assert_eq!(within(Some(302), None), (0, 0, 0, 0));
}

#[test]
fn what_is_under_way_where_events_are_missing_is_not_taken_to_arrive_later() {
    use kymo_model::timeline::Missing;
    let told = |left: Option<i64>| {
        vec![
            send(0, 1, Some(2), None),
            (5, 0, Activity::Gap(Missing::Events)),
            receive(40, 2, Some(1), left),
        ]
    };
    let found = |told| {
        let mut messages = Messages::new();
        analysed_with(told, Window::default(), &mut messages);
        let pairs = messages.pairs();
        let (_, pair) = pairs[0];
        (pair.unreceived(), pair.unsent, pair.latency_ns.max())
    };
    assert_eq!(found(told(None)), (1, 1, None));
    // What says when it left is that one.
    assert_eq!(found(told(Some(0))), (0, 0, Some(40)));
}
