//! Things that a thread of its own makes, as they are asked for.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::Builder;

use crate::{Error, Result};

/// Things that a thread of its own makes, as they are asked for. Dropped, the thread ends at the
/// next thing that it makes.
///
/// ```
/// let mut numbers = kymo_core::ahead::produce(2, |to| {
///     for n in 0.. {
///         to.send(n)?;
///     }
///     Ok(())
/// })?;
/// assert_eq!(numbers.next().transpose()?, Some(0));
/// assert_eq!(numbers.next().transpose()?, Some(1));
/// # Ok::<(), kymo_core::Error>(())
/// ```
///
/// # Errors
/// When there is no thread for it.
pub fn produce<T: Send + 'static>(
    ahead: usize,
    work: impl FnOnce(&Sender<T>) -> Result<()> + Send + 'static,
) -> Result<impl Iterator<Item = Result<T>> + Send> {
    let (to, from) = sync_channel(ahead);
    let run = move || {
        let sender = Sender(to);
        if let Err(error) = work(&sender) {
            // Nobody listens where it was dropped.
            let _ = sender.0.send(Message::Failed(error));
        } else {
            let _ = sender.0.send(Message::Ended);
        }
    };
    Builder::new().spawn(run).map_err(|error| Error::request(format!("no thread: {error}")))?;
    let mut is_over = false;
    Ok(std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let message = from.recv();
        is_over = !matches!(message, Ok(Message::Item(_)));
        match message {
            Ok(Message::Item(item)) => Some(Ok(item)),
            Ok(Message::Failed(error)) => Some(Err(error)),
            Ok(Message::Ended) => None,
            Err(_) => Some(Err(Error::request("a thread has ended early"))),
        }
    }))
}

enum Message<T> {
    Item(T),
    Failed(Error),
    Ended,
}

/// Takes what the thread of [`produce`] makes.
pub struct Sender<T>(SyncSender<Message<T>>);

impl<T> Sender<T> {
    /// Hands on a thing, and waits while nobody asks for it.
    ///
    /// # Errors
    /// When nobody asks any more.
    pub fn send(&self, item: T) -> Result<()> {
        let unwanted = |_| Error::request("nobody asks for more");
        self.0.send(Message::Item(item)).map_err(unwanted)
    }
}
