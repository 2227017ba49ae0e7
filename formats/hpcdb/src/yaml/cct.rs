//! `cct.db`.

use std::sync::Arc;

use kymo_core::Result;

use super::Printing;
use super::out::{Remarks, float};
use crate::read::Budget;
use crate::rows;
use crate::spec::PROFILE_VALUE_BYTES;
use crate::types::CtxInfo;

impl Printing<'_> {
    pub(super) fn cct(&mut self) -> Result<()> {
        let database = Arc::clone(self.database);
        let Some(at) = self.begin("context", "!cct.db/v4", database.cct.is_some())? else {
            return Ok(());
        };
        let Some(file) = &database.cct else { return Ok(()) };
        self.out.line(at, "ctx_infos: !cct.db/v4/ContextInfos")?;
        self.out.list(at + 2, "contexts", "[]", file.contexts.count == 0)?;
        let (mut remarks, mut budget) = (Remarks::default(), Budget::from_part(&file.part));
        for number in 0..file.contexts.count {
            let Some(info) = file.part.with_file(file.context(number))? else { continue };
            let name = self.names.context(number)?.unwrap_or_else(|| format!("[{number}]"));
            let remark = remarks.next(&format!("for {name}"));
            self.out.line(at + 2, format_args!("- !cct.db/v4/PerContext{remark}"))?;
            let records = (info.n_values, PROFILE_VALUE_BYTES);
            let is_room = database.has_room(&file.part, &mut budget, info.offset, records);
            let is_empty = info.n_values == 0 || !is_room;
            self.out.list(at + 4, "values", "{}", is_empty)?;
            if !is_empty {
                self.context_values(at + 6, number, info)?;
            }
            if self.out.is_done() {
                break;
            }
        }
        Ok(())
    }

    fn context_values(&mut self, at: usize, number: u64, info: CtxInfo) -> Result<()> {
        let mut metrics = Remarks::default();
        let mut profiles = Remarks::default();
        let mut last = None;
        for row in rows::context_values_of(Arc::clone(self.database), number, info) {
            if last.replace(row.metric) != Some(row.metric) {
                profiles = Remarks::default();
                let name = self.names.metric(row.metric, false);
                let remark = name.map(|name| metrics.next(&format!("for {name}")));
                let remark = remark.unwrap_or_default();
                self.out.line(at, format_args!("{}:{remark}", row.metric))?;
            }
            let name = self.names.profile(row.profile)?;
            let remark = name.map(|name| profiles.next(&format!("for {{{name}}}")));
            let (value, remark) = (float(row.value), remark.unwrap_or_default());
            self.out.line(at + 2, format_args!("{}: {value}{remark}", row.profile))?;
            if self.out.is_done() {
                break;
            }
        }
        Ok(())
    }
}
