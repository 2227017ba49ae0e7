//! A sink that takes a profile as it has to be told, and keeps nothing of it.

use kymo_core::Result;
use kymo_model::profile::{
    ContextNumber, FileId, Function, FunctionId, Metric, MetricId, ModuleId, Node, ProfileSink,
    SinkValue, Thread, ThreadId,
};
use kymo_model::timeline::TimeNs;

/// How many of each there were.
#[derive(Debug, Default)]
pub(crate) struct Nothing {
    metrics: u32,
    modules: u64,
    files: u64,
    functions: u64,
}

/// The number of one more.
fn next<T: Copy + std::ops::AddAssign + From<u8>>(count: &mut T) -> T {
    let number = *count;
    *count += T::from(1);
    number
}

impl ProfileSink for Nothing {
    fn metric(&mut self, _metric: &Metric) -> Result<MetricId> {
        Ok(MetricId(next(&mut self.metrics)))
    }

    fn module(&mut self, _path: &str) -> Result<ModuleId> {
        Ok(ModuleId(next(&mut self.modules)))
    }

    fn file(&mut self, _path: &str) -> Result<FileId> {
        Ok(FileId(next(&mut self.files)))
    }

    fn function(&mut self, _function: &Function) -> Result<FunctionId> {
        Ok(FunctionId(next(&mut self.functions)))
    }

    fn context(
        &mut self,
        parent: Option<ContextNumber>,
        number: ContextNumber,
        _node: &Node,
    ) -> Result<()> {
        // A context comes after the one above it.
        assert!(number > parent.unwrap_or(ContextNumber(0)), "{number:?} below {parent:?}");
        Ok(())
    }

    fn threads(&mut self, _threads: &[Thread]) -> Result<Vec<(ThreadId, String)>> {
        Ok(Vec::new())
    }

    fn values(
        &mut self,
        _thread: ThreadId,
        values: &mut dyn Iterator<Item = Result<SinkValue>>,
    ) -> Result<()> {
        for value in values {
            let SinkValue { column, value, .. } = value?;
            assert!(value.is_finite() && value != 0.0 && column.metric.0 < self.metrics);
        }
        Ok(())
    }

    fn samples(
        &mut self,
        _thread: ThreadId,
        samples: &mut dyn Iterator<Item = Result<(TimeNs, Option<ContextNumber>)>>,
    ) -> Result<u64> {
        Ok(samples.count() as u64)
    }
}
